-- Ends a token, whether it holds permits or waits for them.
--
-- ARGV, further: token, whether its own instance ends it (0 or 1).
-- Returns {released (0 or 1)}, and of each token of that instance which was granted permits by this, or has to ask again:
-- the token, the fence, how long it has them or 0.

local token = ARGV[3]
if ARGV[4] == '1' then
  reader = string.match(token, '^%x+:')
end

if not used or not lastEnd then
  -- Removes nothing, but is a first write that Redis allows when its memory is full: so it allows the rest too. In any
  -- other case the first one is of that kind.
  redis.call('ZREM', queueKey, '')
end
dropEnded()

local entry = findWaiter(token, said)
if entry then
  leaveQueue(token, entry)
end
local released = endHold(token, permitsOf(said), said)
settle()
save()
table.insert(told, 1, released and 1 or 0)
return told
