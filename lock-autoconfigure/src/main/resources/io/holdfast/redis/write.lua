-- Tries a write like a grant, and changes nothing. Fails if Redis accepts no writes, or no writes that need memory.
--
-- KEYS: a key that does not exist.
-- Returns nothing.

redis.call('set', KEYS[1], '', 'XX')
return {}
