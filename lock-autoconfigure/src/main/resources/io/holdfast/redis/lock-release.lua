-- Ends a token, whether it holds a lock or waits for it, and may bring in another one of its instance; or releases the
-- lock by force.
--
-- KEYS: as those of lock-acquire.lua.
-- ARGV: token; its claim and r or '', as it asked, or '' and '' if that is not known; whether its own instance ends it
-- (0 or 1). If another is to follow, next, r or '', its lease, claim and mode. Times in milliseconds. By force: '', and
-- the tokens that hold the lock.
-- Returns 1 alone if it held the lock and nothing is to be told; else what release() of lib-queue returns, or force().

local lockKey, queueKey, fenceKey, seenKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, forced = ARGV[1], ARGV[1] == ''
local nextToken = not forced and ARGV[5] or nil

-- Who waits, as members and scores, the first 64. To count them first takes less where there are none, as most often if
-- no token is to follow.
local queue = (nextToken or redis.call('ZCARD', queueKey) > 0) and redis.call('ZRANGE', queueKey, 0, 63, 'WITHSCORES') or {}
local owner = redis.pcall('GET', lockKey)
local isOwner = owner == token and not forced

-- The first usual case, as those below before functions are made that it does not need: there is no waiter, and no
-- token is to follow.
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

-- Writes the time as the next fence and reads the last one by one command; by a second one, what is above the last one,
-- if the time was not. Returns the fence as text; nothing, and has changed nothing, where memory is full, writes are
-- refused or another type is stored there: what is right then is found out below.
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

-- The usual cases of passing an exclusive lock on. Without waiters, next follows, exclusively.
if isOwner and grace == 0 and not queue[1] and ARGV[6] == '' then
  local fence = replaceFence()
  if fence then
    redis.call('SET', lockKey, nextToken, 'PX', ARGV[7])
    return { 1, 3, 1, tonumber(fence), tonumber(ARGV[7]) }
  end
end
-- Else the first of them does, who wants it exclusively and whose instance is there; and next, if there is one, goes
-- behind all.
if isOwner and grace == 0 and queue[1] and #queue < 128 then
  local head, instance, claim, mode = string.match(queue[1], '^((%x+):%d+):([1-9]%d*):([sp])$')
  local usual = head and #instance == 32 and #claim < 16
  local score = tonumber(queue[#queue])
  local rest = nextToken and ':' .. ARGV[8] .. ':' .. ARGV[6] .. ARGV[9]
  if usual and rest then
    -- The queue's expiry need not be looked at for next, if that was done for its like in the same quarter of the least
    -- life.
    local quarter = 500 * ARGV[8]
    usual = tonumber(ARGV[8]) >= handoffTimeout and string.sub(queue[#queue - 1], -#rest) == rest
        and math.floor(score / quarter) == math.floor(now / quarter)
  end
  -- Not if one of both is in the queue already: the one leaves its place to next, and the other has no second one.
  for i = 1, #queue, 2 do
    local waiter = usual and string.match(queue[i], '^%x+:%d+')
    usual = waiter and waiter ~= token and waiter ~= nextToken
  end
  local ours = usual and ARGV[4] == '1' and string.find(token, instance .. ':', 1, true) == 1
  local fence = usual and (ours or not isAbsent(instance, mode)) and replaceFence()
  if fence then
    if rest then
      redis.call('ZADD', queueKey, string.format('%.0f', math.max(now, score + 1)), nextToken .. rest)
    end
    redis.call('ZREM', queueKey, queue[1])
    redis.call('SET', lockKey, head, 'PX', claim)
    local answer = rest and { 1, 6, 0, tonumber(claim), tonumber(fence), 0, 0, instance } or { 1, 0 }
    if ours then
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
-- The last fence. Version 1 may have written a second number behind it.
local fence = tonumber(string.match(redis.call('GET', fenceKey) or '', '^(%d+) ?%d*$')) or 0
local isLock, name = true, string.sub(lockKey, prefixLength + 1)
local listener = ARGV[4] == '1' and string.match(token, '^%x+') or nil

-- lib-owner
-- lib-queue

if forced then
  return force({ unpack(ARGV, 2) })
end
return release(token, ARGV[3], ARGV[2], nextToken and { unpack(ARGV, 5) })
