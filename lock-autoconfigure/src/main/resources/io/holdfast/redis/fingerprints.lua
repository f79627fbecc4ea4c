-- Tells whether keys are still what they were, by texts to compare. Changes nothing.
--
-- KEYS: any keys. ARGV: the most bytes that a value may take up to be looked at.
-- Returns one text per key: another one if its value or expiry is another, empty if it cannot be told.

local function fingerprint(key)
  local size = redis.pcall('MEMORY', 'USAGE', key)
  if not size then
    return 'none'
  end
  if type(size) == 'table' or size > tonumber(ARGV[1]) then
    return ''
  end
  local value = redis.pcall('DUMP', key)
  if type(value) ~= 'string' then
    return ''
  end
  -- Since Redis 7.
  local expiry = redis.pcall('PEXPIRETIME', key)
  return redis.sha1hex(value) .. (type(expiry) == 'number' and expiry or '')
end

local fingerprints = {}
for i, key in ipairs(KEYS) do
  fingerprints[i] = fingerprint(key)
end
return fingerprints
