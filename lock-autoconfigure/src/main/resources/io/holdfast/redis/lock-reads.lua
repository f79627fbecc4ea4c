-- What every script of the exclusive lock that grants it looks at first; put before each of them.
--
-- KEYS: the lock, its queue, its fence. Only the server's time decides anything here.
-- This read, and those that follow, come before every write: a key of a wrong type ends the script before it has changed
-- anything.

local lockKey, queueKey, fenceKey = KEYS[1], KEYS[2], KEYS[3]
-- Who waits: members and scores. To count them first takes less where there are none, as most often if no token is to follow.
local queue = (ARGV[5] or redis.call('ZCARD', queueKey) > 0) and redis.call('ZRANGE', queueKey, 0, -1, 'WITHSCORES') or {}
