-- Requests permits of a semaphore. Only the server's time decides.
--
-- KEYS: the holders, the queue, the state, and the operator's limit; with a fail-over grace also the key of grace.lua.
-- ARGV: the user's key; the token; the number of permits; the lease and the claim in milliseconds; the mode for waiting
-- in the queue (s if subscribed, p if polling), or '' for no waiting; the limit of the request; whether the request is
-- fair, so that earlier waiters come first (0 or 1).
-- Returns the fence if the permits were free; {1, fence, ttl} if the token has the permits; {-1, limit} if the request
-- is for more permits than the limit; otherwise {0, time until the lease of the first holder ends, last fence, 0, rest
-- of the grace, '', permits in use, limit}. Times are in milliseconds. See ask() in lib-queue.lua.
--
-- All reads precede all writes: a key of a wrong type ends the script before any change.

-- lib-permits

local token = ARGV[2]
local state = redis.call('HMGET', stateKey, 'used', 'until', 'asked', 'fence', token)
local fence = tonumber(state[4]) or 0
local limitValue = redis.call('GET', limitKey)

-- The usual case comes before the definition of functions, to save time: no waiter, and enough permits. Ended leases
-- still count here, until a request finds too few permits.
if waiting == 0 and grace == 0 and not state[5] and (state[1] and state[2] or holders == 0)
    and (not limitValue or string.find(limitValue, '^%d%d?%d?%d?%d?%d?%d?%d?%d?$')) then
  local permits, ends, lastEnd = ARGV[3], math.floor(now / 1000) + ARGV[4], tonumber(state[2]) or 0
  local taken = (holders > 0 and state[1] or 0) + permits
  -- A holder of a single permit has no note. Its ZADD changes nothing, because a token always requests the same number
  -- of permits. If the write fails, as with full memory, the rest of the script decides.
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

local caller, notes = nil, { [token] = state[5] }

-- lib
-- lib-queue

return ask(unpack(ARGV, 2))
