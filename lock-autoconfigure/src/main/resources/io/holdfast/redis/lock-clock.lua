-- The last fence, as text, and the time in microseconds: what decides about the next fence.

local last = redis.call('GET', fenceKey)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

