-- Looks whether grants stand, and writes something, so that a WAIT on the same connection tells how many replicas have
-- them: what follows a grant in the stream of changes is received after it.
--
-- KEYS: where each is kept. ARGV: for each of them its holder, as in renew.lua; how many milliseconds its lease lasts.
-- Returns for each of them 1 if it stands, else 0.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stands, written = {}, false
for i, key in ipairs(KEYS) do
  local holder, lease = ARGV[2 * i - 1], ARGV[2 * i]
  local isLock = not string.find(holder, ':.*:')
  local value = isLock and redis.pcall('GET', key) or not isLock and redis.pcall('ZSCORE', key, holder)
  if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
    -- Nothing is known about who owns the key.
    return value
  end
  stands[i] = 0
  if isLock and value == holder or not isLock and (tonumber(value) or 0) > now then
    stands[i] = 1
    if not written then
      -- The same time again is written all the same. Only what another program has left without an end is given one.
      local ttl = redis.call('PTTL', key)
      redis.call('PEXPIRE', key, ttl < 0 and lease or math.max(ttl, 1))
      written = true
    end
  end
end
return stands
