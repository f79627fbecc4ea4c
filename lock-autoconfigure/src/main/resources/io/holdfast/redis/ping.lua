-- Publishes a message of an instance to itself, in the same way as a hand-off.
--
-- KEYS: in a cluster, a key in another slot than the channel, as with a hand-off. Not used.
-- ARGV: the channel; the message; the command: PUBLISH, or SPUBLISH for a channel of one master of a cluster.
-- Returns {number of subscribers that a hand-off would find at this server}. Patterns do not count, unless the user may
-- not run PUBSUB. SPUBLISH has no patterns.

local receivers = redis.call(ARGV[3], ARGV[1], ARGV[2])
local subscribers = ARGV[3] == 'PUBLISH' and redis.pcall('PUBSUB', 'NUMSUB', ARGV[1]) or {}
return { subscribers[2] or receivers }
