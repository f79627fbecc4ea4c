-- Ends a token, whether it holds permits or waits for them, and may bring in another of its instance.
--
-- ARGV, further: token, whether its own instance ends it (0 or 1); and if another is to follow: next, and further what it
-- asks for, as in permits-ask.lua.
-- Returns {released (0 or 1; 2 if not, during a grace), how many values tell of next: 0 if it was not brought in}, these, as in permits-ask.lua, and
-- of each token of that instance which was granted permits by this, or has to ask again: the token, the fence, how long it
-- has them or 0.

local token, nextToken = ARGV[3], ARGV[5]
if ARGV[4] == '1' then
  reader = string.match(token, '^%x+:')
end

if excluded or not used or not lastEnd then
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

local answer = {}
local saidOfNext = nextToken and redis.call('HGET', stateKey, nextToken)
-- Only a token that was still in use brings in the next one. A late copy of this command must not revive it.
if nextToken and (released or entry or findWaiter(nextToken, saidOfNext)
    or findEnd(nextToken, permitsOf(saidOfNext))) then
  answer = ask(saidOfNext, unpack(ARGV, 5, 13))
else
  settle()
  save()
end
local result = { released and 1 or grace > 0 and 2 or 0, #answer }
for _, values in ipairs({ answer, told }) do
  for _, value in ipairs(values) do
    table.insert(result, value)
  end
end
return result
