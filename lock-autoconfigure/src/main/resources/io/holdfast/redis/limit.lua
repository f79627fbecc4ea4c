-- Sets or removes the limit of a semaphore that comes before the limits of requests.
--
-- KEYS: as those of permits-acquire.lua. ARGV: the key as its user named it, limit or ''.
-- Returns {whether one was set before (0 or 1)}.

-- lib-permits

local state = redis.call('HMGET', stateKey, 'used', 'until', 'asked', 'fence')
local fence = tonumber(state[4]) or 0
local limitValue = redis.call('GET', limitKey)
local listener, said = nil, {}

-- Removes nothing, but is a first write that Redis allows when its memory is full, and then the rest as well.
redis.call('ZREM', queueKey, '')

-- lib
-- lib-queue

local before = fixedLimit
if ARGV[2] == '' then
  redis.call('DEL', limitKey)
else
  redis.call('SET', limitKey, ARGV[2])
end
fixedLimit = tonumber(ARGV[2])
settle()
save()
return { before and 1 or 0 }
