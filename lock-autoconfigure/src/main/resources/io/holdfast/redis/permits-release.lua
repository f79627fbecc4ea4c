-- Ends a token, whether it holds permits or waits for them, and may bring in another of its instance.
--
-- KEYS: as those of permits-acquire.lua.
-- ARGV: the key as its user named it; token, whether its own instance ends it (0 or 1); and if another is to follow:
-- next, and further what it asks for, as in permits-acquire.lua. Times in milliseconds.
-- Returns 1 alone if it held permits and nothing is to be told; else {released (0 or 1; 2 if not, during a grace), how
-- many values tell of next: 0 if it was not brought in}, these, as ask() says them, and of each token of that instance
-- which was granted permits by this, or has to ask again: the token, the fence, how long it has them or 0.

local holdersKey, queueKey, stateKey, limitKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders = redis.call('ZCARD', holdersKey)
local waiting = redis.call('ZCARD', queueKey)
local state = redis.call('HMGET', stateKey, 'used', 'until', 'asked', 'fence', ARGV[2], ARGV[4] or '')
local used, lastEnd, asked, fence = tonumber(state[1]), tonumber(state[2]), state[3], tonumber(state[4]) or 0
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local token, nextToken, said, nextSaid = ARGV[2], ARGV[4], state[5], state[6]

-- The usual case without waiters, before functions are made that it does not need: the token's lease is not over, and
-- no token is to follow. Leases of others that are over are left to the next who asks.
if waiting == 0 and grace == 0 and not nextToken and used and lastEnd and fence <= micros and (not said or string.find(said, '^%d+$')) then
  local entry = token .. ':' .. (said or '1')
  local ends = redis.call('ZSCORE', holdersKey, entry)
  if ends and tonumber(ends) > now then
    redis.call('ZREM', holdersKey, entry)
    if holders == 1 then
      redis.call('DEL', stateKey)
    else
      redis.call('HSET', stateKey, 'used', used - (said or 1))
      if said then
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
if nextToken and waiting > 0 and holders > 0 and grace == 0 and used and lastEnd and not said and ARGV[5] == '1' then
  first = redis.call('ZRANGE', holdersKey, 0, 1, 'WITHSCORES')
  local heads = redis.call('ZRANGE', queueKey, 0, 1, 'WITHSCORES')
  local tail = waiting > 1 and redis.call('ZRANGE', queueKey, -1, -1, 'WITHSCORES') or heads
  local waiter, instance, claim, limit, mode = string.match(heads[1], '^((%x+):%d+):1:(%d+):(%d+):([sp])$')
  -- All ask for one permit of as many, and those who wait came so recently that they need not have asked again. No
  -- lease is over, and next, which may have asked by itself, is not known.
  local usual = waiter and limit == ARGV[6] and limit == asked and used == (tonumber(limitValue or limit))
      and (waiting == 1 or string.match(heads[3], '^%x+:%d+:1:%d+:(%d+):[sp]$') == limit)
      and micros >= tonumber(heads[4] or heads[2]) and micros - heads[2] < 2000 * handoffTimeout
      and tonumber(first[2]) > now
      and not nextSaid and not redis.call('ZSCORE', holdersKey, nextToken .. ':1')
  local ours = usual and ARGV[3] == '1' and string.find(token, instance .. ':', 1, true) == 1
  local entry = token .. ':1'
  -- The removal is the first write: Redis allows it when its memory is full, and then the rest as well.
  if usual and (ours or not isAbsent(instance, mode)) and redis.call('ZREM', holdersKey, entry) == 1 then
    local ends, fenceText = now + claim, string.format('%.0f', math.max(fence + 1, micros))
    redis.call('ZADD', holdersKey, ends, waiter .. ':1')
    local nextRest = ':1:' .. ARGV[9] .. ':' .. limit .. ':' .. ARGV[10]
    redis.call('ZADD', queueKey, string.format('%.0f', math.max(micros, tail[2] + 1)), nextToken .. nextRest)
    redis.call('ZREM', queueKey, heads[1])
    redis.call('HDEL', stateKey, waiter)
    -- All keys live until next counts as gone, see patience() in lib-permits; a quarter longer, so that most who come
    -- need not set it.
    local patience = 2 * math.max(tonumber(ARGV[9]), handoffTimeout)
    local lasting = math.max(lastEnd, ends, lastEnd < now + patience and now + math.ceil(1.25 * patience) or 0)
    redis.call('HSET', stateKey, 'fence', fenceText, nextToken, string.format('%.0f', micros) .. nextRest)
    if holders == 1 or lasting > lastEnd then
      redis.call('HSET', stateKey, 'until', lasting)
      redis.call('PEXPIREAT', stateKey, lasting)
      redis.call('PEXPIREAT', queueKey, lasting)
      redis.call('PEXPIREAT', holdersKey, lasting)
    end
    if not ours then
      send(instance, 'S ' .. fenceText .. ' ' .. claim .. ' ' .. waiter .. ' ' .. ARGV[1])
    end
    local firstEnd = math.min(tonumber(first[1] ~= entry and first[2] or first[4] or ends), ends)
    -- What next is told; and what its instance is told of the one that was granted the permit.
    local answer = { 1, 5, 0, firstEnd - now, fenceText, 0, 0 }
    if ours then
      answer[8], answer[9], answer[10] = waiter, fenceText, claim
    end
    return answer
  end
end

-- lib-permits

if ARGV[3] == '1' then
  listener = string.match(token, '^%x+')
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

local answer = {}
local saidOfNext = nextToken and redis.call('HGET', stateKey, nextToken)
-- Only a token that was still in use brings in the next one. A late copy of this command must not revive it.
if nextToken and (released or entry or findWaiter(nextToken, saidOfNext)
    or findEnd(nextToken, permitsOf(saidOfNext))) then
  answer = ask(saidOfNext, unpack(ARGV, 4, 11))
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
