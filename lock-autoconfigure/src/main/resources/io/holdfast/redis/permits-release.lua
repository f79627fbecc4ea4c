-- Ends a token, whether it holds permits or waits for them.
--
-- ARGV, further: token.
-- Returns {released (0 or 1)}.

-- Removes nothing, but is the first write, and one that Redis allows when its memory is full: so it allows the rest too.
redis.call('ZREM', queueKey, '')
dropEnded()

local token = ARGV[3]
local entry = findWaiter(token)
if entry then
  leaveQueue(token, entry)
end
local held = findHolder(token)
if held then
  endHold(token, held)
end
settle()
save()
return { held and 1 or 0 }
