-- Ends tokens that hold permits, of whichever instances, as permits-release.lua does with one.
--
-- ARGV, further: the tokens.
-- Returns for each whether it held any (0 or 1).

if excluded or not used or not lastEnd then
  -- A first write that Redis allows when its memory is full: see permits-release.lua.
  redis.call('ZREM', queueKey, '')
end
dropEnded()

local ended = {}
for i = 3, #ARGV do
  local saidOfIt = redis.call('HGET', stateKey, ARGV[i])
  ended[i - 2] = endHold(ARGV[i], permitsOf(saidOfIt), saidOfIt) and 1 or 0
end
settle()
save()
return ended
