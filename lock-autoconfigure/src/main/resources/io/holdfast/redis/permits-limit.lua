-- Sets or removes the limit of a semaphore that comes before what requests say.
--
-- KEYS: as those of permits-acquire.lua. ARGV: the key as its user named it, limit or ''.
-- Returns {whether one was set before (0 or 1)}.

local holdersKey, queueKey, stateKey, limitKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders = redis.call('ZCARD', holdersKey)
local waiting = redis.call('ZCARD', queueKey)
local state = redis.call('HMGET', stateKey, 'used', 'until', 'asked', 'fence')
local used, lastEnd, asked, fence = tonumber(state[1]), tonumber(state[2]), state[3], tonumber(state[4]) or 0
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local limitValue = redis.call('GET', limitKey)
local token, said, first

-- lib
-- lib-permits

-- Removes nothing, but is a first write that Redis allows when its memory is full.
redis.call('ZREM', queueKey, '')
dropEnded()

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
