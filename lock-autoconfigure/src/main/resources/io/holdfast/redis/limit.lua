-- Sets or removes the operator's limit of a semaphore, which replaces the limits of requests.
--
-- KEYS: as in permits-acquire.lua. ARGV: the user's key; the new limit, or '' for none.
-- Returns {whether there was an operator's limit before (0 or 1)}.

-- lib-permits

local state = redis.call('HMGET', stateKey, 'used', 'until', 'asked', 'fence')
local fence = tonumber(state[4]) or 0
local limitValue = redis.call('GET', limitKey)
local caller, notes = nil, {}

-- Removes nothing. With full memory, Redis allows a removal as the first write, and then all further writes.
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
