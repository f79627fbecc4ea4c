-- Publishes a message of an instance to itself, in the same way as a hand-off.
--
-- KEYS: in a cluster, a key in another slot than the channel, as with a hand-off. Not used.
-- ARGV: the channel, the message.
-- Returns {number of subscribers that a hand-off would find at this server}. Patterns do not count, unless the user may
-- not run PUBSUB.

local receivers = redis.call('PUBLISH', ARGV[1], ARGV[2])
local subscribers = redis.pcall('PUBSUB', 'NUMSUB', ARGV[1])
return { subscribers[2] or receivers }
