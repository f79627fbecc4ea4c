-- Takes permits for a token if they are free and, if it is fair, there is no waiter before it.
--
-- KEYS: holders, queue, state, limit of a semaphore. Only the server's time decides anything.
-- ARGV: the key as its user named it; token, permits, limit, fair (0 or 1), lease, claim, mode, enqueue (0 or 1). Times
-- in milliseconds.
-- Returns the fence alone if the permits were free; else what ask() of lib-permits says.
--
-- The reads come before every write: a key of a wrong type ends the script before it has changed anything.

local holdersKey, queueKey, stateKey, limitKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders = redis.call('ZCARD', holdersKey)
local waiting = redis.call('ZCARD', queueKey)
local state = redis.call('HMGET', stateKey, 'used', 'until', 'asked', 'fence', ARGV[2])
local used, lastEnd, asked, fence = tonumber(state[1]), tonumber(state[2]), state[3], tonumber(state[4]) or 0
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local limitValue = redis.call('GET', limitKey)
local token, said = ARGV[2], state[5]

-- The usual case, before functions are made that it does not need: nothing waits, no lease is over, and the permits are
-- free.
local first = holders > 0 and redis.call('ZRANGE', holdersKey, 0, 0, 'WITHSCORES') or nil
if waiting == 0 and grace == 0 and not said and (used and lastEnd or holders == 0) and not (first and tonumber(first[2]) <= now)
    and fence < 1e16 and (not limitValue or string.find(limitValue, '^%d%d?%d?%d?%d?%d?%d?%d?%d?$'))
    and (ARGV[3] == '1' or holders == 0 or not redis.call('ZSCORE', holdersKey, token .. ':1')) then
  local permits, ends = ARGV[3], string.format('%.0f', now + ARGV[6])
  local taken = (holders > 0 and used or 0) + permits
  -- Nothing is said of a token that holds one permit: it has that already then. It fails where memory is full, or writes are
  -- refused: what need not write is found out below.
  if taken <= (tonumber(limitValue) or tonumber(ARGV[4]))
      and redis.pcall('ZADD', holdersKey, 'NX', ends, token .. ':' .. permits) == 1 then
    fence = math.max(fence + 1, micros)
    local lasting = lastEnd and lastEnd > tonumber(ends) and state[2] or ends
    redis.call('HSET', stateKey, 'used', taken, 'until', lasting, 'asked', ARGV[4], 'fence', fence)
    if permits ~= '1' then
      redis.call('HSET', stateKey, token, permits)
    end
    if holders == 0 or lasting ~= state[2] then
      redis.call('PEXPIREAT', stateKey, lasting)
      redis.call('PEXPIREAT', holdersKey, lasting)
    end
    return fence
  end
end

-- lib
-- lib-permits

dropEnded()
return ask(said, unpack(ARGV, 2, 9))
