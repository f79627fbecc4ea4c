-- Gives back some of the permits that a token holds.
--
-- ARGV, further: token, how many it keeps.
-- Returns {whether it holds any (0 or 1)}.

-- See permits-release.lua.
redis.call('ZREM', queueKey, '')
dropEnded()

local token, kept = ARGV[3], ARGV[4]
local held = permitsOf(said)
local ends = findEnd(token, held)
if ends and tonumber(held) > tonumber(kept) then
  -- In this order: an empty set would be gone, and its expiry with it.
  redis.call('ZADD', holdersKey, integer(ends), token .. ':' .. kept)
  redis.call('ZREM', holdersKey, token .. ':' .. held)
  redis.call('HDEL', stateKey, token)
  if kept ~= '1' then
    note(token, kept)
  end
  used = used - held + kept
  changed = true
end
settle()
save()
-- Where its server is gone and took it along, the next renewal brings back what it keeps.
return { (ends or grace > 0) and 1 or 0 }
