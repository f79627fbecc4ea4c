-- Publishes a message: the way that a hand-off takes.
--
-- ARGV: channel, message.
-- Returns {how many received it}.

return { redis.call('PUBLISH', ARGV[1], ARGV[2]) }
