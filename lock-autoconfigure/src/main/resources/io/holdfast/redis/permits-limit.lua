-- Sets or removes the limit of a semaphore that comes before what requests say.
--
-- ARGV, further: limit or ''.
-- Returns {whether one was set before (0 or 1)}.

-- See permits-release.lua.
redis.call('ZREM', queueKey, '')
dropEnded()

local before = fixedLimit
if ARGV[3] == '' then
  redis.call('DEL', KEYS[4])
else
  redis.call('SET', KEYS[4], ARGV[3])
end
fixedLimit = tonumber(ARGV[3])
settle()
save()
return { before and 1 or 0 }
