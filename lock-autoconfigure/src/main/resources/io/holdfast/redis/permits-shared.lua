-- Shared by the scripts that change a semaphore or a read-write lock, for all but their usual cases.

-- Whether there is anything to save, the fence included, and in a key that has no end yet.
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
  -- The stride is that of the exclusive lock, whose fence this is.
  return math.max(fence + (isLock and 64 or 1), micros)
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
  return not excluded and tonumber(redis.call('ZSCORE', holdersKey, token .. ':' .. permits))
end

-- What stands for an entry of this queue in that for the key exclusively, and keeps its place among all that wait.
local function markerOf(entry)
  local token, claim, mode = string.match(entry, '^(%x+:%d+):%d+:(%d+):%d+:([sp])$')
  return token and token .. ':' .. claim .. ':' .. mode .. 'r' or entry
end

local function removeMarker(entry)
  if rival[1] then
    -- If that was the rival, settle() forgets it, as it cannot grant anything to a marker.
    redis.call('ZREM', KEYS[5], markerOf(entry))
  end
end

local function leaveQueue(token, entry)
  redis.call('ZREM', queueKey, entry)
  removeMarker(entry)
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
  if excluded or redis.call('ZREM', holdersKey, token .. ':' .. permits) == 0 then
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
  local entries = excluded and {} or redis.call('ZRANGE', holdersKey, 0, -1, 'WITHSCORES')
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
  said = redis.call('HGET', stateKey, ARGV[3])
end

-- Takes out the holders whose leases are over.
local function dropEnded()
  if reserved then
    redis.call('DEL', holdersKey)
  end
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

-- The instance that reads the answer, if it is to be told of its grants by that; and these: token, fence and time of each.
local reader
local told = {}

-- The token that asks now, and so is there.
local asker

-- Tells an instance of a grant, or by 0 for its time that it is to ask again. False, and nothing is sent, if its subscription
-- is certainly not at this server: see lock-shared.lua.
local function wakeUp(kind, token, millis, mode)
  if reader and kind == ARGV[1] and string.sub(token, 1, #reader) == reader then
    for _, value in ipairs({ token, integer(fence), millis }) do
      table.insert(told, value)
    end
    return true
  end
  local instance = string.match(token, '^%x+')
  if isAbsent(instance, mode) then
    return false
  end
  send(instance, kind .. ' ' .. integer(fence) .. ' ' .. millis .. ' ' .. token .. ' ' .. userKey)
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

-- Forgets the rival: it has had its turn, or is gone.
local function removeRival()
  redis.call('ZREM', KEYS[5], rival[1])
  rival = redis.call('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES')
end

-- Grants the key, which has no holders, exclusively to the first that waits for it so, as lock-shared.lua does.
local function grantExclusively()
  -- Not what only stands for an entry of this queue: it has its turn by that.
  local token, claim, mode = string.match(rival[1], '^(%x+:%d+):(%d+):([sp])$')
  removeRival()
  if token and #claim < 16 and tonumber(claim) > 0 then
    advanceFence()
    redis.call('SET', holdersKey, token, 'PX', claim)
    excluded, owner = wakeUp('L', token, claim, mode), token
    if not excluded then
      redis.call('DEL', holdersKey)
    end
  end
end

-- Whether the rival is certainly gone.
local function isRivalAbsent()
  local token, mode = string.match(rival[1], '^(%x+:%d+):%d+:([sp])$')
  return not token or isAbsent(string.match(token, '^%x+'), mode)
end

-- Grants what is free to the heads of the queue, as long as they fit: none passes a head that does not, nor one that
-- came earlier and waits for the key exclusively. Tells whether the candidate was among them, which is granted a full
-- lease; all others get their claim.
local function settle(candidate, lease)
  local served = false
  while (waiting > 0 or rival[1]) and not excluded and grace == 0 do
    local head = waiting > 0 and redis.call('ZRANGE', queueKey, 0, 0, 'WITHSCORES')
    local token, permits, claim, limit, mode =
        string.match(head and head[1] or '', '^(%x+:%d+):(%d+):(%d+):(%d+):([sp])$')
    if rival[1] and not (head and tonumber(head[2]) <= tonumber(rival[2])) then
      if holders == 0 then
        grantExclusively()
      elseif isRivalAbsent() then
        removeRival()
      else
        break
      end
    elseif not token then
      leaveQueue('', head[1])
    else
      limit = fixedLimit or tonumber(limit)
      if isGone(token, head[2], claim) then
        leaveQueue(token, head[1])
      elseif tonumber(permits) > limit then
        leaveQueue(token, head[1])
        advanceFence()
        wakeUp(ARGV[1], token, 0, mode)
      elseif used + permits > limit then
        break
      else
        leaveQueue(token, head[1])
        if token == candidate then
          hold(token, permits, lease)
          served = true
        else
          hold(token, permits, claim)
          if not wakeUp(ARGV[1], token, claim, mode) then
            endHold(token, permits)
          end
        end
      end
    end
  end
  return served
end

-- The first of the queue that is there, and when it came; nil if there is none. Those that have not asked for long are out.
-- One without a subscription keeps its place: it may have one again.
local function firstPresent()
  local i = 0
  while i < waiting do
    local entry = redis.call('ZRANGE', queueKey, i, i, 'WITHSCORES')
    local token, claim, mode = string.match(entry[1], '^(%x+:%d+):%d+:(%d+):%d+:([sp])$')
    if not token or token ~= asker and isGone(token, entry[2], claim) then
      leaveQueue(token or '', entry[1])
    elseif token ~= asker and isAbsent(string.match(token, '^%x+'), mode) then
      i = i + 1
    else
      return entry
    end
  end
end

-- Writes down what was counted, and lets all keys of what is held or waited for live equally long. Without either, only
-- a fence is left that is ahead of the clock, or is a lock's. A field and its value that the state is to say besides may be
-- given.
local function save(...)
  local place = excluded and firstPresent()
  if place then
    -- The owner's release gives the key to the first that came, of both queues.
    redis.call('ZADD', KEYS[5], place[2], markerOf(place[1]))
    -- As long as those that wait ask again, and so do this.
    if redis.call('PTTL', KEYS[5]) < 2 * handoffTimeout then
      redis.call('PEXPIRE', KEYS[5], integer(2 * handoffTimeout))
    end
  end
  if advanced and isLock then
    local ahead = math.max(0, math.ceil((fence - micros) / 1000))
    redis.call('SET', KEYS[4], integer(fence), 'PX', integer(retention + ahead))
  end
  if holders == 0 and waiting == 0 then
    redis.call('DEL', stateKey)
    if not isLock and fence > micros then
      redis.call('HSET', stateKey, 'fence', integer(fence))
      redis.call('PEXPIREAT', stateKey, integer(math.ceil(fence / 1000)))
    end
  elseif changed then
    local ends = integer(lastEnd)
    if advanced and not isLock then
      redis.call('HSET', stateKey, 'used', integer(used), 'until', ends, 'asked', asked or 0, 'fence', integer(fence), ...)
    else
      redis.call('HSET', stateKey, 'used', integer(used), 'until', ends, 'asked', asked or 0, ...)
    end
    if keyIsNew or ends ~= state[2] then
      redis.call('PEXPIREAT', stateKey, ends)
      redis.call('PEXPIREAT', queueKey, ends)
      if not excluded then
        redis.call('PEXPIREAT', holdersKey, ends)
      end
    end
  end
end

