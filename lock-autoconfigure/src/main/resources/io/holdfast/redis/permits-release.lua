-- Ends a token, whether it holds permits or waits for them, and may bring in another of its instance; or releases permits
-- by force.
--
-- KEYS: as those of permits-acquire.lua.
-- ARGV: the key as its user named it; token, whether its own instance ends it (0 or 1); and if another is to follow:
-- next, and further its request, as in permits-acquire.lua. Times in milliseconds. By force: the key, '', and the tokens
-- that hold permits.
-- Returns 1 alone if it held permits and nothing is to be told; else what release() of lib-queue returns, or force().

local holdersKey, queueKey, stateKey, limitKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders = redis.call('ZCARD', holdersKey)
local waiting = redis.call('ZCARD', queueKey)
local token, forced = ARGV[2], ARGV[2] == ''
local nextToken = not forced and ARGV[4] or nil
local state = redis.call('HMGET', stateKey, 'used', 'until', 'asked', 'fence', token, nextToken or '')
local used, lastEnd, fence, permits = tonumber(state[1]), tonumber(state[2]), tonumber(state[4]) or 0, state[5]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local millis = math.floor(now / 1000)

-- The usual case without waiters, before functions are made that it does not need: the token's lease is not over, and
-- no token is to follow. Leases of others that are over are left to the next who asks.
if waiting == 0 and grace == 0 and not nextToken and not forced and used and lastEnd and fence <= now
    and (not permits or string.find(permits, '^%d+$')) then
  local entry = token .. ':' .. (permits or '1')
  local ends = redis.call('ZSCORE', holdersKey, entry)
  if ends and tonumber(ends) > millis then
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
local first

-- lib

-- The usual case with waiters: one permit comes back. It is for the first of the queue, nothing is left for the second,
-- and next goes behind all.
if nextToken and waiting > 0 and holders > 0 and grace == 0 and used and lastEnd and not permits and ARGV[5] == '1' then
  first = redis.call('ZRANGE', holdersKey, 0, 1, 'WITHSCORES')
  local heads = redis.call('ZRANGE', queueKey, 0, 1, 'WITHSCORES')
  local tail = waiting > 1 and redis.call('ZRANGE', queueKey, -1, -1, 'WITHSCORES') or heads
  local waiter, instance, claim, limit, mode = string.match(heads[1], '^((%x+):%d+):1:(%d+):(%d+):([sp])$')
  -- All ask for one permit of as many, and those who wait came so recently that they need not have asked again. No
  -- lease is over, and next, which may have asked by itself, is not known.
  local usual = waiter and limit == ARGV[6] and limit == state[3] and used == (tonumber(limitValue or limit))
      and (waiting == 1 or string.match(heads[3], '^%x+:%d+:1:%d+:(%d+):[sp]$') == limit)
      and now >= tonumber(heads[4] or heads[2]) and now - heads[2] < 2000 * handoffTimeout
      and tonumber(first[2]) > millis
      and not state[6] and not redis.call('ZSCORE', holdersKey, nextToken .. ':1')
  local ours = usual and ARGV[3] == '1' and string.find(token, instance .. ':', 1, true) == 1
  local entry = token .. ':1'
  -- The removal is the first write: Redis allows it when its memory is full, and then the rest as well.
  if usual and (ours or not isAbsent(instance, mode)) and redis.call('ZREM', holdersKey, entry) == 1 then
    local ends, fenceText = millis + claim, string.format('%.0f', math.max(fence + 1, now))
    redis.call('ZADD', holdersKey, ends, waiter .. ':1')
    local nextRest = ':1:' .. ARGV[9] .. ':' .. limit .. ':' .. ARGV[10]
    redis.call('ZADD', queueKey, string.format('%.0f', math.max(now, tail[2] + 1)), nextToken .. nextRest)
    redis.call('ZREM', queueKey, heads[1])
    redis.call('HDEL', stateKey, waiter)
    -- All keys live until next counts as gone, see patience() in lib-queue; a quarter longer, so that most who come
    -- need not set it.
    local patience = 2 * math.max(tonumber(ARGV[9]), handoffTimeout)
    local lasting = math.max(lastEnd, ends, lastEnd < millis + patience and millis + math.ceil(1.25 * patience) or 0)
    redis.call('HSET', stateKey, 'fence', fenceText, nextToken, string.format('%.0f', now) .. nextRest)
    if holders == 1 or lasting > lastEnd then
      redis.call('HSET', stateKey, 'until', lasting)
      for _, key in ipairs({ stateKey, queueKey, holdersKey }) do
        redis.call('PEXPIREAT', key, lasting)
      end
    end
    if not ours then
      send(instance, 'S ' .. fenceText .. ' ' .. claim .. ' ' .. waiter .. ' ' .. ARGV[1])
    end
    local firstEnd = math.min(tonumber(first[1] ~= entry and first[2] or first[4] or ends), ends)
    -- The reply to next, and to its instance the grant of the other.
    local answer = { 1, 8, 0, firstEnd - millis, fenceText, 0, 0, '', used, used }
    if ours then
      answer[11], answer[12], answer[13] = waiter, fenceText, claim
    end
    return answer
  end
end

local isLock, name, said = false, ARGV[1], { [token] = permits, [nextToken or ''] = state[6] }
local listener = ARGV[3] == '1' and string.match(token, '^%x+') or nil

-- Removes nothing, but is a first write that Redis allows when its memory is full, and then the rest as well.
redis.call('ZREM', queueKey, '')

-- lib-queue

if forced then
  return force({ unpack(ARGV, 3) })
end
return release(token, '', '', nextToken and { unpack(ARGV, 4, 11) })
