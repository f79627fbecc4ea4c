-- Ends a token, whether it holds the lock or waits for it, and may put another of its instance in its place.
--
-- ARGV: token and, if another is to follow, next, its lease, its claim, its mode; times in milliseconds.
-- Returns {released (0 or 1; 2 if not, during a grace)} and, if next owns the lock, 1, fence, ttl; if it is in the queue, 0, the owner's ttl, last
-- fence, owner is foreign (0 or 1), what is left of the grace; else -1.

local token, nextToken, lease, claim, mode = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]

-- The first write, whether or not there is anything to remove: Redis allows it when its memory is full, and then the
-- rest of the script as well.
local i = find(token)
redis.call('ZREM', queueKey, i and queue[i] or token)
local place = i and removeAt(i)

local released = owner == token
if released then
  owner = false
end

-- Only a token that was still in use brings in the next one. A late copy of this command must not revive it.
if nextToken and (released or place) and owner ~= nextToken then
  enqueue(nextToken, claim, mode, place)
end

if not owner then
  settle(nextToken)
end
if not owner then
  redis.call('DEL', lockKey)
end

local result = { released and 1 or grace > 0 and 2 or 0 }
if nextToken and owner == nextToken then
  local ttl = lengthen(lease)
  result[2], result[3], result[4] = 1, fence, ttl
elseif nextToken and find(nextToken) then
  result[2], result[3], result[4] = 0, ownerTtl(), lastFence()
  result[5], result[6] = isForeign(owner) and 1 or 0, grace
else
  result[2] = -1
end
return result
