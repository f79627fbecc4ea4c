-- Lengthens the leases of many keys, and never shortens one; or has them end at a given time.
--
-- KEYS: keys. ARGV: for each of them the token and how many milliseconds its lease is to last from now, at least; negative,
-- if it is to last no longer, either. See grace.lua for what comes last.
-- Returns for each of them 1 if the token owns it, else 0.

local kept = {}
for i = 1, keyCount do
  local key, token, lease = KEYS[i], ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  local value = redis.pcall('GET', key)
  kept[i] = 0
  if value == token then
    if lease < 0 or redis.call('PTTL', key) < lease then
      -- As it was sent: there are many in a call, and making a text of a number takes time.
      redis.call('PEXPIRE', key, lease < 0 and string.sub(ARGV[2 * i], 2) or ARGV[2 * i])
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
