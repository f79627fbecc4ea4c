-- Lengthens the leases of many keys, and never shortens one; or has them end at a given time.
--
-- KEYS: keys. ARGV: for each of them the token; for each of them, or once for all, how many milliseconds its lease is to
-- last from now, at least; negative, if it is to last no longer, either.
-- Returns how many there are, and at which places those are that their tokens do not own.

-- Since Redis 7, to lengthen and to find out whether that shortens is one command.
local longer = redis.REDIS_VERSION_NUM and 'GT'

-- All owners by one command; not if what is of another type must be told from what is gone. Where it fails, as between
-- slots of a cluster, one by one.
local owners = grace == 0 and redis.pcall('MGET', unpack(KEYS, 1, keyCount)) or {}

-- Whether a key is kept for a reader or writer, whose grant went with the server before: see permits-shared.lua.
local function isReserved(value)
  return type(value) == 'string' and string.find(value, '^%x+:%d+:r$') and string.find(value, ':', 1, true) == 33
end

local each = #ARGV > keyCount + 1
-- As it was sent: there are many in a call, and making a text of a number takes time.
local text = ARGV[keyCount + 1]
local lease = tonumber(text)
local answer = { keyCount }
for i = 1, keyCount do
  local key, token, value = KEYS[i], ARGV[i], owners[i]
  if each then
    text = ARGV[keyCount + i]
    lease = tonumber(text)
  end
  if value == nil then
    value = redis.pcall('GET', key)
  end
  if value == token then
    if lease < 0 then
      redis.call('PEXPIRE', key, string.sub(text, 2))
    elseif not longer or redis.call('PEXPIRE', key, text, longer) == 0 then
      -- To that, a key without an end is one that lasts longer.
      if redis.call('PTTL', key) < lease then
        redis.call('PEXPIRE', key, text)
      end
    end
  elseif grace > 0 and lease > 0 and (not value or isReserved(value)) then
    -- Its server is gone, and took the lock with it; no other token has got it yet. Removing nothing is a write that Redis
    -- allows when its memory is full, and then the next as well.
    redis.call('DEL', key)
    redis.call('SET', key, token, 'PX', text)
  elseif type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
    -- Nothing is known about who owns the key. What another type replaced is lost, and no reason to lose the others.
    return value
  else
    answer[#answer + 1] = i
  end
end
return answer
