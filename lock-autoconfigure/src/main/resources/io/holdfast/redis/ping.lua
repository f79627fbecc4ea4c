-- Publishes a message: the way that a hand-off takes.
--
-- KEYS: in a cluster one of a slot that need not be the channel's, as those of a hand-off; it is not used.
-- ARGV: channel, message.
-- Returns {how many subscribers a hand-off would find at this server}: without patterns, unless only PUBLISH may count.

local receivers = redis.call('PUBLISH', ARGV[1], ARGV[2])
local subscribers = redis.pcall('PUBSUB', 'NUMSUB', ARGV[1])
return { subscribers[2] or receivers }
