-- Publishes a message to a channel of this part of a cluster: the way that a hand-off takes there.
--
-- KEYS: one of a slot of the same master, as those of a hand-off; it is not used.
-- ARGV: channel, message.
-- Returns {how many subscribers it has at this server}.

return { redis.call('SPUBLISH', ARGV[1], ARGV[2]) }
