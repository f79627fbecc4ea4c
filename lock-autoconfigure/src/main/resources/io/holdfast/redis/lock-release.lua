-- Ends a holding or waiting token of a lock, and may bring in a next token of the same instance. Or releases a lock by
-- force.
--
-- KEYS: as in lock-acquire.lua.
-- ARGV: the token; its claim and r or '' as in its request, or '' and '' if unknown; whether the command comes from the
-- token's own instance (0 or 1). With a next token also: the next token, r or '', its lease, claim and mode. By force:
-- '' and the tokens that hold the lock. Times are in milliseconds.
-- Returns 1 if the token held the lock, and there is nothing else to report. Otherwise {released (1 or 0; 2 for not
-- released during a grace), number of values for the next token, these values as in lock-acquire.lua, and for each
-- grant to the same instance the token, the fence and the time}. By force, for each token whether there was a lease (0
-- or 1). See release() and force() in lib-queue.lua.

local lockKey, queueKey, fenceKey, seenKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, forced = ARGV[1], ARGV[1] == ''
local nextToken = not forced and ARGV[5] or nil

-- The first 64 waiters, as entries and scores. Without a next token, there is usually no waiter, and the count takes
-- less time.
local queue = (nextToken or redis.call('ZCARD', queueKey) > 0) and redis.call('ZRANGE', queueKey, 0, 63, 'WITHSCORES') or {}
local owner = redis.pcall('GET', lockKey)
local isOwner = owner == token and not forced

-- The first usual case: no waiter and no next token. All usual cases come before the definition of functions, to save
-- time.
if not queue[1] and not nextToken and isOwner then
  redis.call('DEL', lockKey)
  return 1
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if not queue[1] and not nextToken and ARGV[3] == 'r' and grace == 0 and type(owner) == 'table' then
  local ends = redis.pcall('ZSCORE', lockKey, token .. ':r')
  if type(ends) == 'string' and tonumber(ends) * 1000 > now then
    redis.call('ZREM', lockKey, token .. ':r')
    return 1
  end
end

-- lib

-- Writes the time as the next fence, and reads the last fence, by one command. If the last fence is ahead of the time,
-- a second command writes a higher fence. Returns the fence as text; or nothing, without a change, if memory is full,
-- writes are refused, or the key has another type. Then the rest of the script decides.
local function replaceFence()
  local fence = string.format('%.0f', now)
  local last = redis.pcall('SET', fenceKey, fence, 'PX', retention, 'GET')
  if type(last) == 'table' then
    return
  end
  local digits = string.match(last or '', '^(%d+) ?%d*$')
  local least = digits and digits + 64 or 0
  if least > now then
    fence = string.format('%.0f', least)
    redis.call('SET', fenceKey, fence, 'PX', retention + math.ceil((least - now) / 1000))
  end
  return fence
end

-- The usual cases of handing an exclusive lock over. Without waiters, a next token with an exclusive request gets the
-- lock.
if isOwner and grace == 0 and not queue[1] and ARGV[6] == '' then
  local fence = replaceFence()
  if fence then
    redis.call('SET', lockKey, nextToken, 'PX', ARGV[7])
    return { 1, 3, 1, tonumber(fence), tonumber(ARGV[7]) }
  end
end
-- Otherwise, a first waiter with an exclusive request and a present instance gets the lock. The next token, if any, is
-- queued behind all.
if isOwner and grace == 0 and queue[1] and #queue < 128 then
  local head, instance, claim, mode = string.match(queue[1], '^((%x+):%d+):([1-9]%d*):([sp])$')
  local usual = head and #instance == 32 and #claim < 16
  local score = tonumber(queue[#queue])
  local suffix = nextToken and ':' .. ARGV[8] .. ':' .. ARGV[6] .. ARGV[9]
  if usual and suffix then
    -- The expiry of the queue does not have to be checked for the next token if the last waiter has the same claim and
    -- mode, and arrived in the same quarter of the patience: the script of the last waiter has left a quarter in
    -- reserve.
    local quarter = 500 * ARGV[8]
    usual = tonumber(ARGV[8]) >= handoffTimeout and string.sub(queue[#queue - 1], -#suffix) == suffix
        and math.floor(score / quarter) == math.floor(now / quarter)
  end
  -- Not if either token is in the queue: the ended token leaves its place to the next token, and the next token must
  -- not have a second place.
  for i = 1, #queue, 2 do
    local waiter = usual and string.match(queue[i], '^%x+:%d+')
    usual = waiter and waiter ~= token and waiter ~= nextToken
  end
  local ofCaller = usual and ARGV[4] == '1' and string.find(token, instance .. ':', 1, true) == 1
  local fence = usual and (ofCaller or not isAbsent(instance, mode)) and replaceFence()
  if fence then
    if suffix then
      redis.call('ZADD', queueKey, string.format('%.0f', math.max(now, score + 1)), nextToken .. suffix)
    end
    redis.call('ZREM', queueKey, queue[1])
    redis.call('SET', lockKey, head, 'PX', claim)
    local answer = suffix and { 1, 6, 0, tonumber(claim), tonumber(fence), 0, 0, instance } or { 1, 0 }
    if ofCaller then
      table.insert(answer, head)
      table.insert(answer, fence)
      table.insert(answer, claim)
    else
      send(instance, 'L ' .. fence .. ' ' .. claim .. ' ' .. head .. ' ' .. string.sub(lockKey, prefixLength + 1))
    end
    return answer
  end
end

local waiting = redis.call('ZCARD', queueKey)
-- The last fence, without the second number of version 1.
local fence = tonumber(string.match(redis.call('GET', fenceKey) or '', '^(%d+) ?%d*$')) or 0
local isLock, name = true, string.sub(lockKey, prefixLength + 1)
local caller = ARGV[4] == '1' and string.match(token, '^%x+') or nil

-- lib-owner
-- lib-queue

if forced then
  return force({ unpack(ARGV, 2) })
end
return release(token, ARGV[3], ARGV[2], nextToken and { unpack(ARGV, 5) })
