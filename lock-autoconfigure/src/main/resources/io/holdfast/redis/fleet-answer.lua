-- Answers with a report.
--
-- KEYS: the list of answers. ARGV: the report, how long it is there in milliseconds.
-- Returns {how many answers there are}.

local count = redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return { count }
