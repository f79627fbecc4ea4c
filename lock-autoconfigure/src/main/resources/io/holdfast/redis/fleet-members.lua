-- Returns all registered instances.
--
-- KEYS: the hash of instances.
-- Returns {server's time in milliseconds, and for each instance the id and the entry}. For entries see fleet-join.lua.

local time = redis.call('TIME')
local result = redis.call('HGETALL', KEYS[1])
table.insert(result, 1, string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)))
return result
