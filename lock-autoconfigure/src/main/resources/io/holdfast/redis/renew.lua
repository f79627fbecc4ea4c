-- Lengthens the leases of many locks, and never shortens one; or has them end at a given time.
--
-- KEYS: the locks. ARGV: for each of them the token, with ":r" behind that of a reader; for each of them, or once for
-- all, how many milliseconds its lease is to last from now, at least; negative, if it is to last no longer, either.
-- Returns how many there are, and at which places those are that their tokens do not hold.

-- Since Redis 7, to lengthen and to find out whether that shortens is one command.
local longer = redis.REDIS_VERSION_NUM and 'GT'

-- All owners by one command; not if what is of another type must be told from what is gone. Where it fails, as between
-- slots of a cluster, one by one.
local owners = grace == 0 and redis.pcall('MGET', unpack(KEYS, 1, keyCount)) or {}

local now
local function millis()
  if not now then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return now
end

-- Whether nothing is known about who holds a key. What another type replaced is lost, and no reason to lose the others.
local function isUnknown(reply)
  return type(reply) == 'table' and reply.err and not string.find(reply.err, 'WRONGTYPE', 1, true)
end

local each = #ARGV > keyCount + 1
-- As it was sent: there are many in a call, and making a text of a number takes time.
local text = ARGV[keyCount + 1]
local lease = tonumber(text)
local answer = { keyCount }
for i = 1, keyCount do
  local key, holder, value = KEYS[i], ARGV[i], owners[i]
  local reads = string.sub(holder, -2) == ':r'
  if each then
    text = ARGV[keyCount + i]
    lease = tonumber(text)
  end
  if value == nil then
    value = redis.pcall('GET', key)
  end
  if value == holder and not reads then
    if lease < 0 then
      redis.call('PEXPIRE', key, string.sub(text, 2))
    elseif not longer or redis.call('PEXPIRE', key, text, longer) == 0 then
      -- To that, a key without an end is one that lasts longer.
      if redis.call('PTTL', key) < lease then
        redis.call('PEXPIRE', key, text)
      end
    end
  elseif isUnknown(value) then
    return value
  elseif reads and type(value) ~= 'string' then
    local ends = redis.pcall('ZSCORE', key, holder)
    if isUnknown(ends) then
      return ends
    end
    local wanted = millis() + math.abs(lease)
    -- In a grace, its server is gone, and took it along: no other token has got anything yet. Not what another program,
    -- or version 1, keeps there.
    local again = grace > 0 and lease > 0 and not ends
        and string.find(redis.call('ZRANGE', key, -1, -1)[1] or holder, '^%x+:%d+:r$')
    if again or type(ends) == 'string' and (tonumber(ends) > millis() or grace > 0 and lease > 0) then
      if again or lease < 0 or tonumber(ends) < wanted then
        -- This write comes first, as Redis allows it when its memory is full.
        local last = math.max(wanted, millis() + redis.call('PTTL', key))
        redis.call('PEXPIREAT', key, last)
        redis.call('ZADD', key, wanted, holder)
        redis.call('PEXPIREAT', key, last)
      end
    else
      answer[#answer + 1] = i
    end
  elseif grace > 0 and lease > 0 and not value and not reads then
    -- The same. Removing nothing is a write that Redis allows when its memory is full, and then the next as well.
    redis.call('DEL', key)
    redis.call('SET', key, holder, 'PX', text)
  else
    answer[#answer + 1] = i
  end
end
return answer
