-- The functions of the scripts of semaphores, put where a script says "lib-permits".
--
-- They need: holdersKey, queueKey, stateKey and limitKey; holders and waiting, how many there are; state, the reply to
-- HMGET of the state, and of it used, lastEnd, asked and fence; micros and now, the server's time; limitValue, the
-- value of the limit key; token, the one that the script is about, or nil, and said, what the state says of it: text,
-- or false; first, the holder whose lease ends first, and when, or nil if that has to be looked up. They change these.
-- dropEnded() is to come first, save() last.

-- The limit of an operator, unless what stands there is none.
local fixedLimit = limitValue and string.find(limitValue, '^%d+$') and tonumber(limitValue)
if fixedLimit and fixedLimit > 1000000000 then
  fixedLimit = nil
end

local changed, advanced, keyIsNew = false, false, false

local function integer(number)
  return string.format('%.0f', number)
end

-- All keys live until the last lease or wait has ended that is known of.
local function keepUntil(millis)
  lastEnd = math.max(lastEnd, millis)
  changed = true
end

local function nextFence()
  return math.max(fence + 1, micros)
end

local function advanceFence()
  fence = nextFence()
  changed, advanced = true, true
end

-- The state tells of each waiter, by its token, when it asked last and its entry in the queue without the token; of each
-- holder of more than one permit, how many.
local function note(token, value)
  redis.call('HSET', stateKey, token, value)
end

local function stamped(token, entry)
  return integer(micros) .. string.sub(entry, #token + 1)
end

-- The token's entry in the queue, or nil.
local function findWaiter(token, said)
  local rest = said and string.match(said, '^%d+(:.*)$')
  return rest and redis.call('ZSCORE', queueKey, token .. rest) and token .. rest or nil
end

-- How many permits a token holds if it holds any, as text.
local function permitsOf(said)
  -- What is said of it as a waiter is still there if the queue was deleted or evicted.
  return said and string.match(said, '^%d+$') or '1'
end

-- When its lease ends, or nil.
local function findEnd(token, permits)
  return tonumber(redis.call('ZSCORE', holdersKey, token .. ':' .. permits))
end

local function leaveQueue(token, entry)
  redis.call('ZREM', queueKey, entry)
  redis.call('HDEL', stateKey, token)
  waiting = waiting - 1
end

local function hold(token, permits, millis)
  if permits ~= '1' then
    note(token, permits)
  end
  redis.call('ZADD', holdersKey, integer(now + millis), token .. ':' .. permits)
  keyIsNew = keyIsNew or holders == 0
  holders = holders + 1
  used = used + permits
  first = nil
  keepUntil(now + millis)
  advanceFence()
end

-- Tells whether it held them.
local function endHold(token, permits, said)
  if redis.call('ZREM', holdersKey, token .. ':' .. permits) == 0 then
    return false
  end
  if permits ~= '1' or said then
    redis.call('HDEL', stateKey, token)
  end
  holders = holders - 1
  used = used - permits
  first = nil
  changed = true
  return true
end

-- What the state says is gone: it is learned anew from the holders and the queue.
local function restoreState()
  used, lastEnd = 0, lastEnd or 0
  if holders == 0 and waiting == 0 then
    -- The usual case: it was not used for a while.
    return
  end
  changed = true
  local entries = redis.call('ZRANGE', holdersKey, 0, -1, 'WITHSCORES')
  for i = 1, #entries, 2 do
    local token, permits = string.match(entries[i], '^(.*):(%d+)$')
    if token and permits ~= '1' then
      note(token, permits)
    end
    used = used + (permits or 0)
    lastEnd = math.max(lastEnd, tonumber(entries[i + 1]))
  end
  for _, entry in ipairs(redis.call('ZRANGE', queueKey, 0, -1)) do
    local token = string.match(entry, '^%x+:%d+') or ''
    note(token, stamped(token, entry))
  end
  lastEnd = math.max(lastEnd, now + redis.call('PTTL', queueKey))
  said = token and redis.call('HGET', stateKey, token)
end

-- Takes out the holders whose leases are over.
local function dropEnded()
  if not used or not lastEnd then
    restoreState()
  end
  first = first or holders > 0 and redis.call('ZRANGE', holdersKey, 0, 0, 'WITHSCORES') or nil
  if first and tonumber(first[2]) <= now then
    local ended = redis.call('ZRANGEBYSCORE', holdersKey, '-inf', integer(now))
    redis.call('ZREMRANGEBYSCORE', holdersKey, '-inf', integer(now))
    for _, entry in ipairs(ended) do
      local token, permits = string.match(entry, '^(.*):(%d+)$')
      if token and permits ~= '1' then
        redis.call('HDEL', stateKey, token)
      end
      used = used - (permits or 0)
    end
    holders = holders - #ended
    first = nil
    changed = true
  end
  if holders == 0 then
    used = 0
  end
end

-- The instance that reads the answer, if it is told of its grants by that; and these: token, fence and time of each.
local listener
local told = {}

-- Tells an instance of a grant, or by 0 for its time that it is to ask again. False, and nothing is sent, if its
-- subscription is certainly not at this server.
local function wakeUp(token, millis, mode)
  local instance = string.match(token, '^%x+')
  if instance == listener then
    for _, value in ipairs({ token, integer(fence), millis }) do
      table.insert(told, value)
    end
    return true
  end
  if isAbsent(instance, mode) then
    return false
  end
  send(instance, 'S ' .. integer(fence) .. ' ' .. millis .. ' ' .. token .. ' ' .. ARGV[1])
  return true
end

-- How long a waiter counts as alive without asking again, and its keys are kept for it: four times the longest time after
-- which it asks.
local function patience(claim)
  return 2 * math.max(tonumber(claim), handoffTimeout)
end

-- Whether the instance of one in the queue is gone, as it has not asked for long.
local function isGone(token, arrival, claim)
  local limit = 1000 * patience(claim)
  local age = micros - arrival
  -- Who came so recently need not have asked again.
  return not (age >= 0 and age < limit)
      and micros - (string.match(redis.call('HGET', stateKey, token) or '', '^%d+') or arrival) >= limit
end

-- Grants what is free to the heads of the queue, as long as they fit: none passes a head that does not. Tells whether
-- the candidate was among them, which is granted a full lease; all others get their claim.
local function settle(candidate, lease)
  local served = false
  while waiting > 0 and grace == 0 do
    local head = redis.call('ZRANGE', queueKey, 0, 0, 'WITHSCORES')
    local token, permits, claim, limit, mode = string.match(head[1], '^(%x+:%d+):(%d+):(%d+):(%d+):([sp])$')
    if not token then
      leaveQueue('', head[1])
    else
      limit = fixedLimit or tonumber(limit)
      if isGone(token, head[2], claim) then
        leaveQueue(token, head[1])
      elseif tonumber(permits) > limit then
        leaveQueue(token, head[1])
        advanceFence()
        wakeUp(token, 0, mode)
      elseif used + permits > limit then
        break
      else
        leaveQueue(token, head[1])
        if token == candidate then
          hold(token, permits, lease)
          served = true
        else
          hold(token, permits, claim)
          if not wakeUp(token, claim, mode) then
            endHold(token, permits)
          end
        end
      end
    end
  end
  return served
end

-- Writes down what was counted, and lets all keys of what is held or waited for live equally long. Without either, only
-- a fence is left that is ahead of the clock. A field and its value that the state is to say besides may be given.
local function save(...)
  if holders == 0 and waiting == 0 then
    redis.call('DEL', stateKey)
    if fence > micros then
      redis.call('HSET', stateKey, 'fence', integer(fence))
      redis.call('PEXPIREAT', stateKey, integer(math.ceil(fence / 1000)))
    end
  elseif changed then
    local ends = integer(lastEnd)
    if advanced then
      redis.call('HSET', stateKey, 'used', integer(used), 'until', ends, 'asked', asked or 0, 'fence', integer(fence), ...)
    else
      redis.call('HSET', stateKey, 'used', integer(used), 'until', ends, 'asked', asked or 0, ...)
    end
    if keyIsNew or ends ~= state[2] then
      redis.call('PEXPIREAT', stateKey, ends)
      redis.call('PEXPIREAT', queueKey, ends)
      redis.call('PEXPIREAT', holdersKey, ends)
    end
  end
end

-- What a token is told that has its permits: {1, fence, ttl}.
local function granted(ttl)
  save()
  return { 1, integer(fence), ttl }
end

-- Takes permits for a token if they are free and, if it is fair, there is no waiter before it. Returns {1, fence, ttl}
-- if the token holds its permits; {-1, limit} if it asks for more than there are; else {0, time until the first lease
-- ends, last fence, 0, what is left of the grace}.
--
-- Arguments: what is said of the token; then, as they are in ARGV, token, permits, limit, fair (0 or 1), lease, claim, mode,
-- enqueue (0 or 1).
local function ask(said, token, permits, limit, fair, lease, claim, mode, enqueue)
  if asked ~= limit then
    asked, changed = limit, true
  end

  local entry = findWaiter(token, said)
  local held = permitsOf(said)
  local ends = findEnd(token, held)
  if entry or ends then
    -- Removes nothing, but is a first write that Redis allows when its memory is full: so a token that is known already
    -- has its turn then, too.
    redis.call('ZREM', queueKey, '')
  end
  if entry then
    local other = string.sub(entry, 1, -2) .. mode
    if other ~= entry then
      -- It now waits in another way: the same place, another entry. In this order: an empty set would be gone, and its
      -- expiry with it.
      redis.call('ZADD', queueKey, redis.call('ZSCORE', queueKey, entry), other)
      redis.call('ZREM', queueKey, entry)
      entry = other
    end
    note(token, stamped(token, entry))
    keepUntil(now + patience(claim))
  end

  if ends then
    if ends < now + lease then
      ends = now + lease
      redis.call('ZADD', holdersKey, integer(ends), token .. ':' .. held)
      keepUntil(ends)
    end
    if fence == 0 then
      -- The fence of this grant is gone: give it a new one rather than none.
      advanceFence()
    end
    -- It needs nothing of what has just come back.
    settle()
    return granted(ends - now)
  end

  local most = fixedLimit or tonumber(limit)
  if tonumber(permits) > most then
    if entry then
      leaveQueue(token, entry)
    end
    settle()
    save()
    return { -1, most }
  end
  if settle(token, lease) then
    return granted(lease)
  end
  if grace == 0 and (waiting == 0 or fair ~= '1') and used + permits <= most then
    if entry then
      leaveQueue(token, entry)
    end
    hold(token, permits, lease)
    return granted(lease)
  end

  if enqueue == '1' and not entry then
    entry = token .. ':' .. permits .. ':' .. claim .. ':' .. limit .. ':' .. mode
    local tail = redis.call('ZRANGE', queueKey, -1, -1, 'WITHSCORES')
    redis.call('ZADD', queueKey, integer(math.max(micros, (tail[2] or 0) + 1)), entry)
    keyIsNew = keyIsNew or waiting == 0
    waiting = waiting + 1
    keepUntil(now + patience(claim))
    save(token, stamped(token, entry))
  else
    save()
  end
  -- The last fence, for telling old hand-offs from new ones. If it is gone, all before now were lower than this; and all of
  -- servers before this one, of which it may know too little, were lower than the time when that began.
  local lastFence = integer(math.max(fence > 0 and fence or micros - 1, serverSince))
  if grace > 0 then
    return { 0, grace, lastFence, 0, grace }
  end
  first = first or redis.call('ZRANGE', holdersKey, 0, 0, 'WITHSCORES')
  return { 0, first[2] and first[2] - now or 1000, lastFence, 0, 0 }
end

