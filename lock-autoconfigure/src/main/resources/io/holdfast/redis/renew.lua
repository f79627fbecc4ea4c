-- Lengthens the leases of many keys, and never shortens one; or has them end at a given time.
--
-- KEYS: keys. ARGV: for each of them the token and how many milliseconds its lease is to last from now, at least; negative,
-- if it is to last no longer, either. See grace.lua for what comes last.
-- Returns for each of them 1 if the token owns it, else 0.

-- Since Redis 7, to lengthen and to find out whether that shortens is one command.
local longer = redis.REDIS_VERSION_NUM and 'GT'

-- All owners by one command; not if what is of another type must be told from what is gone. Where it fails, as between
-- slots of a cluster, one by one.
local owners = grace == 0 and redis.pcall('MGET', unpack(KEYS, 1, keyCount)) or {}

local kept = {}
for i = 1, keyCount do
  local key, token, lease, value = KEYS[i], ARGV[2 * i - 1], tonumber(ARGV[2 * i]), owners[i]
  if value == nil then
    value = redis.pcall('GET', key)
  end
  kept[i] = 0
  if value == token then
    -- As it was sent: there are many in a call, and making a text of a number takes time.
    if lease < 0 then
      redis.call('PEXPIRE', key, string.sub(ARGV[2 * i], 2))
    elseif not longer or redis.call('PEXPIRE', key, ARGV[2 * i], longer) == 0 then
      -- To that, a key without an end is one that lasts longer.
      if redis.call('PTTL', key) < lease then
        redis.call('PEXPIRE', key, ARGV[2 * i])
      end
    end
    kept[i] = 1
  elseif not value and grace > 0 and lease > 0 then
    -- Its server is gone, and took the lock with it; nobody else has got it yet. Removing nothing is a write that Redis
    -- allows when its memory is full, and then the next as well.
    redis.call('DEL', key)
    redis.call('SET', key, token, 'PX', ARGV[2 * i])
    kept[i] = 1
  elseif type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
    -- Nothing is known about who owns the key. What another type replaced is lost, and no reason to lose the others.
    return value
  end
end
return kept
