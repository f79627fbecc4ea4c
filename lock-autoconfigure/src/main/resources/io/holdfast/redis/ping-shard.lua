-- Publishes a message of an instance to itself, through a channel of one master of a cluster, in the same way as a
-- hand-off.
--
-- KEYS: a key in another slot of the same master, as with a hand-off. Not used.
-- ARGV: the channel, the message.
-- Returns {number of subscribers at this server}.

return { redis.call('SPUBLISH', ARGV[1], ARGV[2]) }
