-- Checks whether grants exist, and writes, so that WAIT on the same connection returns the number of replicas that have
-- the grants: in the stream of changes, this write follows the grants.
--
-- KEYS: for each grant, the key with the holder. ARGV: for each grant, the holder, as in renew.lua, and the lease in
-- milliseconds.
-- Returns for each grant whether it exists (0 or 1).

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stands, written = {}, false
for i, key in ipairs(KEYS) do
  local holder, lease = ARGV[2 * i - 1], ARGV[2 * i]
  local isLock = not string.find(holder, ':.*:')
  local value = isLock and redis.pcall('GET', key) or not isLock and redis.pcall('ZSCORE', key, holder)
  if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
    -- The holder of the key is unknown.
    return value
  end
  stands[i] = 0
  if isLock and value == holder or not isLock and (tonumber(value) or 0) > now then
    stands[i] = 1
    if not written then
      -- The same expiry is a write, too. Only a key of another program, without expiry, gets a new expiry.
      local ttl = redis.call('PTTL', key)
      redis.call('PEXPIRE', key, ttl < 0 and lease or math.max(ttl, 1))
      written = true
    end
  end
end
return stands
