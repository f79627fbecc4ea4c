-- First reads of a semaphore, in place of the line "lib-permits" of a script.
--
-- Sets the names of the keys; holders and waiting, the numbers of holders and waiters; now, the server's time in
-- microseconds; and name, the user's key.

local holdersKey, queueKey, stateKey, limitKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders = redis.call('ZCARD', holdersKey)
local waiting = redis.call('ZCARD', queueKey)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local isLock, name = false, ARGV[1]
