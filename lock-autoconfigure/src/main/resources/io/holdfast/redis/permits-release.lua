-- Ends a token, whether it holds permits or waits for them.
--
-- ARGV, further: token, whether its own instance ends it (0 or 1).
-- Returns {released (0 or 1)}, and of each token of that instance which was granted permits by this, or has to ask again:
-- the token, the fence, how long it has them or 0.

-- Removes nothing, but is the first write, and one that Redis allows when its memory is full: so it allows the rest too.
redis.call('ZREM', queueKey, '')
dropEnded()

local token = ARGV[3]
if ARGV[4] == '1' then
  reader = string.match(token, '^%x+:')
end
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
table.insert(told, 1, held and 1 or 0)
return told
