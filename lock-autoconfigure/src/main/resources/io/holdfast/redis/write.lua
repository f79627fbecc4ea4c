-- Asks for a write as a grant does, and changes nothing: fails where Redis takes no writes, or none that need memory.
--
-- KEYS: a key that is not used.

redis.call('set', KEYS[1], '', 'XX')
return {}
