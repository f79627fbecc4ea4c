-- The functions of the scripts of locks, put where a script says "lib-lock".
--
-- They need: lockKey, queueKey, fenceKey and seenKey; now, the server's time in microseconds; last, the value of the
-- fence key; owner, the reply to GET of the lock key, an error included; waiting, the length of the queue. Of these
-- they change owner, which is false once the lock has no exclusive owner, and waiting. save() writes what the others
-- only note.

local STRIDE = 64
local millis = math.floor(now / 1000)

-- The last fence. Version 1 may have written a second number behind it.
local fence = tonumber(string.match(last or '', '^(%d+) ?%d*$')) or 0
local advanced = false

-- Whether readers have been there; when the last of their leases ends, 0 if all have ended; and whether the lock key
-- has to live until then from now on.
local read, readUntil, lengthened = false, 0, false

local function instanceOf(token)
  local instance = string.match(token, '^(%x+):%d+$')
  return instance and #instance == 32 and instance or nil
end

-- What is of another type than a string: readers, each by its token and ":r" with the end of its lease; or the readers
-- or writer of version 1, which count as a foreign owner without a name until the key expires. All else is an error.
if type(owner) == 'table' then
  local reader = string.find(owner.err, 'WRONGTYPE', 1, true) and redis.call('ZRANGE', lockKey, -1, -1, 'WITHSCORES')
  if reader and string.find(reader[1], '^%x+:%d+:r$') then
    owner, read, readUntil = false, true, tonumber(reader[2]) > millis and tonumber(reader[2]) or 0
  elseif reader and string.find(reader[1], '^%x+:%d+:%d+$') then
    owner = ''
  else
    return owner
  end
end

-- All digits, in a text: alone, Redis takes a number in all of its digits.
local function integer(number)
  return string.format('%.0f', number)
end

-- Follows the clock as well as the last fence, so that it also grows if the last one was lost or has expired.
local function nextFence()
  return math.max(fence + STRIDE, now)
end

local function advanceFence()
  fence, advanced = nextFence(), true
end

-- The last fence, for telling old hand-offs from new ones. If it is gone, all before now were lower than this; and all of
-- servers before this one, of which it may know too little, were lower than the time when that began.
local function lastFence()
  return integer(math.max(fence > 0 and fence or now - 1, serverSince))
end

-- Writes what has changed, and removes readers whose leases have ended. Not before: a removal allows the writes behind
-- it when memory is full.
local function save()
  if read and not owner then
    redis.call('ZREMRANGEBYSCORE', lockKey, '-inf', millis)
  end
  if lengthened then
    redis.call('PEXPIREAT', lockKey, integer(readUntil))
  end
  if advanced then
    redis.call('SET', fenceKey, integer(fence), 'PX', integer(retention + math.max(0, math.ceil((fence - now) / 1000))))
  end
end

-- What is left of an exclusive lease that this script has granted.
local granted

local function grant(token, reads, lease)
  advanceFence()
  if reads == '' then
    redis.call('SET', lockKey, token, 'PX', lease)
    owner, granted = token, tonumber(lease)
  else
    redis.call('ZADD', lockKey, integer(millis + lease), token .. ':r')
    readUntil, lengthened = math.max(readUntil, millis + lease), true
  end
end

-- When the lease of a reader ends, or nil.
local function endOfReader(token)
  local ends = readUntil > 0 and tonumber(redis.call('ZSCORE', lockKey, token .. ':r'))
  return ends and ends > millis and ends or nil
end

-- Ends what a token holds; tells whether it held anything.
local function endHold(token)
  if owner == token then
    redis.call('DEL', lockKey)
    owner = false
    return true
  end
  if not endOfReader(token) then
    return false
  end
  redis.call('ZREM', lockKey, token .. ':r')
  local ends = tonumber(redis.call('ZRANGE', lockKey, -1, -1, 'WITHSCORES')[2]) or 0
  readUntil = ends > millis and ends or 0
  return true
end

-- What a token holds lasts at least this long from now on; it is never shortened. Returns how long it lasts, nil if it
-- holds nothing.
local function lengthen(token, lease)
  local ttl
  if owner == token then
    ttl = redis.call('PTTL', lockKey)
    if ttl < lease then
      redis.call('PEXPIRE', lockKey, lease)
      ttl = lease
    end
  else
    local ends = endOfReader(token)
    ttl = ends and ends - millis
    if ttl and ttl < lease then
      readUntil, ttl = math.max(readUntil, millis + lease), lease
      -- This write comes first, as Redis allows it when its memory is full.
      redis.call('PEXPIREAT', lockKey, integer(readUntil))
      redis.call('ZADD', lockKey, integer(millis + lease), token .. ':r')
    end
  end
  if ttl and fence == 0 then
    -- The fence of this grant is gone: give it a new one rather than none.
    advanceFence()
  end
  return ttl
end

-- The queue has token:claim:mode of each that waits, by the time of its arrival. The mode is s of a subscribed
-- instance, or p of one that polls, after an r of a reader.

-- The entry of a token in the queue and its score, or nil. Only where its claim is not known, all of the queue is read.
local function find(token, claim, reads)
  if waiting == 0 then
    return
  end
  if claim ~= '' then
    for _, mode in ipairs({ 's', 'p' }) do
      local entry = token .. ':' .. claim .. ':' .. reads .. mode
      local score = redis.call('ZSCORE', queueKey, entry)
      if score then
        return entry, score
      end
    end
    return
  end
  for _, entry in ipairs(redis.call('ZRANGE', queueKey, 0, -1)) do
    if string.find(entry, token .. ':', 1, true) == 1 then
      return entry, redis.call('ZSCORE', queueKey, entry)
    end
  end
end

local function leaveQueue(entry)
  redis.call('ZREM', queueKey, entry)
  waiting = waiting - 1
  if read and not string.find(entry, ':r[sp]$') then
    redis.call('DEL', seenKey)
  end
end

-- How long a waiter counts as alive without asking again, in milliseconds: four times the longest time after which it asks.
local function patience(claim)
  return 2 * math.max(tonumber(claim), handoffTimeout)
end

-- Puts a token into the queue: in the place of an entry that has left it, or behind all. Replaces an entry of its own.
local function enqueue(token, claim, reads, mode, own, score)
  local entry = token .. ':' .. claim .. ':' .. reads .. mode
  if own and own ~= entry then
    leaveQueue(own)
  end
  if own ~= entry then
    local tail = not score and waiting > 0 and redis.call('ZRANGE', queueKey, -1, -1, 'WITHSCORES')[2]
    redis.call('ZADD', queueKey, score or integer(math.max(now, (tail or 0) + 1)), entry)
    waiting = waiting + 1
  end
  -- A quarter longer for those who come soon after and do not look, see lock-release.lua. Twice as long, so that most
  -- who look need not set it.
  if redis.call('PTTL', queueKey) < 1.25 * patience(claim) then
    redis.call('PEXPIRE', queueKey, integer(2 * patience(claim)))
  end
end

-- Notes that the first of the queue has asked, or is the first from now on, while others read.
local function see(token, claim)
  redis.pcall('SET', seenKey, token .. ' ' .. integer(now), 'PX', integer(2 * patience(claim)))
end

-- Whether the first of the queue, which waits for readers to end, is gone: it has no subscription, or has not asked for
-- long.
local function isGone(token, instance, claim, mode)
  if isAbsent(instance, mode) then
    return true
  end
  local value = redis.pcall('GET', seenKey)
  local seen, at = string.match(type(value) == 'string' and value or '', '^(%x+:%d+) (%d+)$')
  if seen ~= token then
    see(token, claim)
  end
  return seen == token and now - at >= 1000 * patience(claim)
end

-- The instance that reads the answer, if it is told of its grants by that; and these: token, fence and time of each.
local listener
local told = {}

local function tell(instance, token, claim)
  if instance == listener then
    told[#told + 1], told[#told + 2], told[#told + 3] = token, integer(fence), claim
  else
    send(instance, 'L ' .. integer(fence) .. ' ' .. claim .. ' ' .. token .. ' ' .. string.sub(lockKey, prefixLength + 1))
  end
end

-- Grants the lock to the heads of the queue for as long as they fit: to one exclusively, or to readers. Whose instance
-- is gone is passed over. The candidate has its full lease and is not told; all others have their claims. Tells whether
-- the candidate was served.
local function settle(candidate, lease)
  local served = false
  while waiting > 0 and not owner and grace == 0 do
    local entry = redis.call('ZRANGE', queueKey, 0, 0)[1]
    local token, instance, claim, reads, mode = string.match(entry, '^((%x+):%d+):([1-9]%d*):(r?)([sp])$')
    local valid = token and #instance == 32 and #claim < 16
    local hasToWait = valid and reads == '' and readUntil > 0
    if hasToWait and token == candidate then
      see(token, claim)
    end
    if hasToWait and (token == candidate or not isGone(token, instance, claim, mode)) then
      break
    end
    leaveQueue(entry)
    if valid and token == candidate then
      grant(token, reads, lease)
      served = true
    elseif valid and not hasToWait and (instance == listener or not isAbsent(instance, mode)) then
      -- Never taken back, as what is published cannot be: replicas hear it, too.
      grant(token, reads, claim)
      tell(instance, token, claim)
    end
  end
  return served
end

-- What a token is told that has to wait: {0, how long the lock is held at most if it is not renewed (-1 for no end),
-- last fence, owner is foreign (0 or 1), what is left of the grace, the owner's instance or ''}.
local function busy()
  local ttl = not owner and (readUntil > 0 and readUntil - millis or grace) or granted or redis.call('PTTL', lockKey)
  if ttl == -1 and heal > 0 then
    redis.call('PEXPIRE', lockKey, heal)
    ttl = heal
  end
  local instance = owner and instanceOf(owner)
  return { 0, ttl, lastFence(), owner and not instance and 1 or 0, grace, instance or '' }
end
