-- Removes the registration of an instance.
--
-- KEYS: the hash of instances. ARGV: the id of the instance.
-- Returns {whether the instance was registered (0 or 1)}.

return { redis.call('HDEL', KEYS[1], ARGV[1]) }
