-- Looks at a lock without changing anything.
--
-- KEYS: the lock, its queue, its fence.
-- Returns {owner or nil, its ttl in milliseconds (-1: no end, 0: no owner), last fence, length of the queue}.

local owner = redis.call('GET', KEYS[1])
local ttl = owner and redis.call('PTTL', KEYS[1]) or 0
local fence = tonumber(redis.call('GET', KEYS[3]) or 0) or 0
return { owner, ttl, string.format('%.0f', fence), redis.call('ZCARD', KEYS[2]) }
