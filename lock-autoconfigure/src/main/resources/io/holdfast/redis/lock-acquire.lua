-- Takes the lock for a token if it has no owner and no waiter before it.
--
-- ARGV: token, lease, claim, and its mode if it is to wait in the queue, else ''; times in milliseconds.
-- Returns {1, fence, ttl} if the token owns the lock, else {0, the owner's ttl, last fence, owner is foreign (0 or 1), what is
-- left of the grace}.

local token, lease, claim, mode = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

if not owner then
  settle(token)
end
if not owner and grace == 0 then
  grant(token, lease)
end

if owner == token then
  local i = find(token)
  if i then
    redis.call('ZREM', queueKey, queue[i])
  end
  local ttl = lengthen(lease)
  return { 1, fence, ttl }
end

local ttl = ownerTtl()
if ttl == -1 and heal > 0 then
  redis.call('PEXPIRE', lockKey, heal)
  ttl = heal
end
if mode ~= '' then
  enqueue(token, claim, mode)
end
return { 0, ttl, lastFence(), isForeign(owner) and 1 or 0, grace }
