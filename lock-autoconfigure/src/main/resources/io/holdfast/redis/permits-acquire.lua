-- Takes permits for a token if they are free and, if it is fair, there is no waiter before it.
--
-- KEYS: holders, queue, state, limit of a semaphore. Only the server's time decides anything.
-- ARGV: the key as its user named it; token, permits, lease, claim, and its mode if it is to wait in the queue, else '';
-- limit, fair (0 or 1). Times in milliseconds.
-- Returns the fence alone if the permits were free; else what ask() of lib-queue returns.
--
-- The reads come before every write: a key of a wrong type ends the script before it has changed anything.

-- lib-permits

local token = ARGV[2]
local state = redis.call('HMGET', stateKey, 'used', 'until', 'asked', 'fence', token)
local fence = tonumber(state[4]) or 0
local limitValue = redis.call('GET', limitKey)

-- The usual case, before functions are made that it does not need: nothing waits, and the permits are free. Leases that
-- are over still count as long as there are enough: they are left to the first who finds too few.
if waiting == 0 and grace == 0 and not state[5] and (state[1] and state[2] or holders == 0)
    and (not limitValue or string.find(limitValue, '^%d%d?%d?%d?%d?%d?%d?%d?%d?$')) then
  local permits, ends, lastEnd = ARGV[3], math.floor(now / 1000) + ARGV[4], tonumber(state[2]) or 0
  local taken = (holders > 0 and state[1] or 0) + permits
  -- Nothing is said of a token that holds one permit: it has that already then. A token never asks for another number.
  -- The write fails where memory is full, or writes are refused: what need not write is found out below.
  if taken <= (tonumber(limitValue) or tonumber(ARGV[7]))
      and redis.pcall('ZADD', holdersKey, 'NX', ends, token .. ':' .. permits) == 1 then
    fence = math.max(fence + 1, now)
    local lasting = math.max(lastEnd, ends)
    redis.call('HSET', stateKey, 'used', taken, 'until', lasting, 'asked', ARGV[7], 'fence', fence)
    if permits ~= '1' then
      redis.call('HSET', stateKey, token, permits)
    end
    if holders == 0 or lasting > lastEnd then
      redis.call('PEXPIREAT', stateKey, lasting)
      redis.call('PEXPIREAT', holdersKey, lasting)
    end
    return fence
  end
end

local listener, said = nil, { [token] = state[5] }

-- lib
-- lib-queue

return ask(unpack(ARGV, 2))
