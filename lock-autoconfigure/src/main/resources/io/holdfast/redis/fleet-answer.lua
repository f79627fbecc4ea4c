-- Adds the report of an instance to the answers.
--
-- KEYS: the list of answers. ARGV: the report, the lifetime of the list in milliseconds.
-- Returns {number of answers}.

local count = redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return { count }
