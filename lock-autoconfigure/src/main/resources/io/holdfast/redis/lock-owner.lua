-- The owner and the last fence, for a script that has no usual case which reads them.

local last = redis.call('GET', fenceKey)
local owner = redis.pcall('GET', lockKey)

