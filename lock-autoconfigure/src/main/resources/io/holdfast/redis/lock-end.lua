-- Releases the lock by force, in the name of the token that has it, and tells that token's instance.
--
-- ARGV: the token.
-- Returns whether it had the lock (0 or 1).

local token = ARGV[1]
if owner ~= token then
  return { 0 }
end

-- Removing comes first: Redis allows it when memory is full, and then the rest of the script as well.
redis.call('DEL', lockKey)
owner = false
local instance = instanceOf(token)
if instance then
  -- Before others hear of their grants.
  tellEnded(instance, integer(nextFence()), { token })
end
settle()
if not owner then
  redis.call('DEL', lockKey)
end
return { 1 }
