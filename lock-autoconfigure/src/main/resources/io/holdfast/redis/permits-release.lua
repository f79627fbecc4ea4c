-- Ends a holding or waiting token of a semaphore, and may bring in a next token of the same instance. Or releases
-- permits by force.
--
-- KEYS: as in permits-acquire.lua.
-- ARGV: the user's key; the token; whether the command comes from the token's own instance (0 or 1). With a next token
-- also: the next token and its request, as in permits-acquire.lua. By force: the user's key, '', and the tokens that
-- hold permits.
-- Returns 1 if the token held permits, and there is nothing else to report. Otherwise {released (1 or 0; 2 for not
-- released during a grace), number of values for the next token, these values as in permits-acquire.lua, and for each
-- grant to the same instance the token, the fence and the time}. By force, for each token whether there was a lease (0
-- or 1). See release() and force() in lib-queue.lua.

-- lib-permits

local token, forced = ARGV[2], ARGV[2] == ''
local nextToken = not forced and ARGV[4] or nil
local state = redis.call('HMGET', stateKey, 'used', 'until', 'asked', 'fence', token, nextToken or '')
local used, fence, permits = tonumber(state[1]), tonumber(state[4]) or 0, state[5]

-- The usual case comes before the definition of functions, to save time: no waiter, no next token, and the lease of the
-- token has not ended. Ended leases of other tokens are left to the first request that finds too few permits.
if waiting == 0 and not nextToken and used and fence <= now then
  local entry = token .. ':' .. (permits or '1')
  local ends = redis.call('ZSCORE', holdersKey, entry)
  if ends and tonumber(ends) * 1000 > now then
    redis.call('ZREM', holdersKey, entry)
    if holders == 1 then
      redis.call('DEL', stateKey)
    else
      redis.call('HSET', stateKey, 'used', used - (permits or 1))
      if permits then
        redis.call('HDEL', stateKey, token)
      end
    end
    return 1
  end
end

local limitValue = redis.call('GET', limitKey)
local notes = { [token] = permits, [nextToken or ''] = state[6] }
local caller = ARGV[3] == '1' and string.match(token, '^%x+') or nil

-- A missing state is restored by writes, which Redis refuses with full memory, except after a removal. All other cases
-- begin with a removal.
if not (state[1] and state[2]) then
  redis.call('ZREM', queueKey, '')
end

-- lib
-- lib-queue

if forced then
  return force({ unpack(ARGV, 3) })
end
return release(token, '', '', nextToken and { unpack(ARGV, 4) })
