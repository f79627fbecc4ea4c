-- Tells whether keys are still what they were, by texts to compare. Changes nothing.
--
-- KEYS: any keys.
-- Returns one text per key: another one if its value or expiry is another, empty if it cannot be told.

-- The size up to which a value is looked at, as all others wait for Redis.
local MOST_BYTES = 65536

-- When a key expires, empty if it does not. Before Redis 7 that is known by what is left of it, if both are asked for
-- within one millisecond.
local function expiry(key)
  local at = redis.pcall('PEXPIRETIME', key)
  for _ = 1, type(at) == 'number' and 0 or 20 do
    local before, left, after = redis.pcall('TIME'), redis.pcall('PTTL', key), redis.pcall('TIME')
    if type(left) ~= 'number' or not before[1] or left < 0 then
      return ''
    end
    local now = before[1] * 1000 + math.floor(before[2] / 1000)
    if now == after[1] * 1000 + math.floor(after[2] / 1000) then
      return string.format('%.0f', now + left)
    end
  end
  return type(at) == 'number' and at or ''
end

local function fingerprint(key)
  local size = redis.pcall('MEMORY', 'USAGE', key)
  if not size then
    return 'none'
  end
  if type(size) == 'table' or size > MOST_BYTES then
    return ''
  end
  local value = redis.pcall('DUMP', key)
  if type(value) ~= 'string' then
    return ''
  end
  return redis.sha1hex(value) .. expiry(key)
end

local fingerprints = {}
for i, key in ipairs(KEYS) do
  fingerprints[i] = fingerprint(key)
end
return fingerprints
