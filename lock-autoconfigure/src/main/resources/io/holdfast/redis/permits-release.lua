-- Ends a token, whether it holds permits or waits for them, and may bring in another of its instance; or releases permits
-- by force.
--
-- KEYS: as those of permits-acquire.lua.
-- ARGV: the key as its user named it; token, whether its own instance ends it (0 or 1); and if another is to follow:
-- next, and further its request, as in permits-acquire.lua. Times in milliseconds. By force: the key, '', and the tokens
-- that hold permits.
-- Returns 1 alone if it held permits and nothing is to be told; else what release() of lib-queue returns, or force().

-- lib-permits

local token, forced = ARGV[2], ARGV[2] == ''
local nextToken = not forced and ARGV[4] or nil
local state = redis.call('HMGET', stateKey, 'used', 'until', 'asked', 'fence', token, nextToken or '')
local used, fence, permits = tonumber(state[1]), tonumber(state[4]) or 0, state[5]

-- The usual case, before functions are made that it does not need: there is no waiter, the token's lease is not over, and
-- no token is to follow. Leases of others that are over are left to the first who finds too few permits.
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
local said = { [token] = permits, [nextToken or ''] = state[6] }
local listener = ARGV[3] == '1' and string.match(token, '^%x+') or nil

-- To learn the state anew is to write, which Redis refuses when its memory is full, but not behind a removal. All else
-- begins with one anyway.
if not (state[1] and state[2]) then
  redis.call('ZREM', queueKey, '')
end

-- lib
-- lib-queue

if forced then
  return force({ unpack(ARGV, 3) })
end
return release(token, '', '', nextToken and { unpack(ARGV, 4) })
