-- Forgets an instance.
--
-- KEYS: the hash of instances. ARGV: the instance's id.
-- Returns {whether it was there (0 or 1)}.

return { redis.call('HDEL', KEYS[1], ARGV[1]) }
