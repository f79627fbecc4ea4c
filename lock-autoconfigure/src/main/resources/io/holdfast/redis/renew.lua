-- Lengthens the leases of many keys, and never shortens one.
--
-- KEYS: keys. ARGV: for each of them the token and how many milliseconds its lease is to last from now.
-- Returns for each of them 1 if the token owns it, else 0.

local kept = {}
for i, key in ipairs(KEYS) do
  local token, lease = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  local value = redis.pcall('GET', key)
  if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
    -- Nothing is known about who owns the key.
    return value
  end
  kept[i] = 0
  -- What another type replaced is lost, and no reason to lose the others.
  if value == token then
    if redis.call('PTTL', key) < lease then
      redis.call('PEXPIRE', key, ARGV[2 * i])
    end
    kept[i] = 1
  end
end
return kept
