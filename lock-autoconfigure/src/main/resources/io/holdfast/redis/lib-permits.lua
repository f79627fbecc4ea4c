-- The first reads of a semaphore, put where a script says "lib-permits".

local holdersKey, queueKey, stateKey, limitKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders = redis.call('ZCARD', holdersKey)
local waiting = redis.call('ZCARD', queueKey)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local isLock, name = false, ARGV[1]
