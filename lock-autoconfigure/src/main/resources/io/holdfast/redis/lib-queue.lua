-- Queue of a lock or a semaphore, in place of the line "lib-queue" of a script, after "lib". The first part has the
-- differences between locks and semaphores. The second part has the common functions. A script calls settle, ask,
-- release, force and save.
--
-- Needs for both: isLock; name, the user's key; queueKey; waiting, the length of the queue; now, the server's time in
-- microseconds; fence, the last fence, or 0; caller, the instance that learns of its grants from the reply, or nil.
-- Needs for locks: lockKey, fenceKey, seenKey; owner and readUntil of lib-owner.
-- Needs for semaphores: holdersKey, stateKey; holders, the number of holders; state, the reply to HMGET of used, until,
-- asked and fence; notes, the notes of the state by token, false for no note; limitValue, the value of the limit key.
-- Changes owner, readUntil, waiting, holders, fence, state and notes.

local millis = math.floor(now / 1000)
local changed = false
local fixedLimit

-- Returns the limit for a request of permits: the operator's limit, or else the limit of the request.
local function limitInForce(limit)
  return fixedLimit or tonumber(limit)
end

-- Returns a number as text with all digits. An argument that is only a number needs no conversion, because Redis writes
-- all its digits.
local function integer(number)
  return string.format('%.0f', number)
end

-- Follows both the clock and the last fence, so that fences grow even if the last fence was lost or has expired.
local function nextFence()
  return math.max(fence + (isLock and 64 or 1), now)
end

local function advanceFence()
  fence, changed = nextFence(), true
end

-- Returns the time for which a waiter counts as alive without asking, in milliseconds: four times the longest pause
-- between two questions.
local function patience(claim)
  return 2 * math.max(tonumber(claim), handoffTimeout)
end

local function instanceOf(token)
  local instance = string.match(token, '^(%x+):%d+$')
  return instance and #instance == 32 and instance or nil
end

-- The differences. The terms of a token ("wanted") are r for reading, '' for an exclusive lock, or a number of permits.
--
-- parse(entry): token, instance, claim, mode (s if subscribed, p if polling), wanted, and the limit of a request for
-- permits; nothing for an entry of another version or program.
-- find(token, wanted, claim): the entry of a token in the queue, and its score; or nothing.
-- keep(token, entry, claim): lets the queue live long enough for a waiter that has just asked.
-- forget(token): removes the note about a waiter.
-- hasToWait(wanted, limit): whether other tokens hold too much for a grant.
-- isGone(isCandidate, token, claim, arrival, waits): whether the head of the queue is dead. waits: the result of
-- hasToWait.
-- remaining(token, wanted): the remaining time of a lease in milliseconds, or nil without a lease.
-- hold(token, wanted, time), lengthen(token, wanted, time), endHold(token): begin, lengthen and end a lease. endHold
-- returns false without a lease.
-- describeHolders(limit): the time until the lease of the owner, of the last reader, or of the first holder of permits
-- ends; whether the owner is foreign (0 or 1); the instance of the owner or ''; the number of readers, or of permits in
-- use; and the limit of a semaphore.
-- save(): writes the changes that the other functions have noted.
local parse, find, keep, forget, hasToWait, isGone, remaining, hold, lengthen, endHold, describeHolders, save

if isLock then
  -- Whether save() has to extend the lock key until readUntil.
  local lengthened = false

  function parse(entry)
    local token, instance, claim, reads, mode = string.match(entry, '^((%x+):%d+):([1-9]%d*):(r?)([sp])$')
    if token and #instance == 32 and #claim < 16 then
      return token, instance, claim, mode, reads
    end
  end

  -- Without a known claim, the whole queue is read.
  function find(token, reads, claim)
    if waiting == 0 then
      return
    end
    local beginning = token .. ':' .. claim .. ':' .. reads
    local entries = claim == '' and redis.call('ZRANGE', queueKey, 0, -1) or { beginning .. 's', beginning .. 'p' }
    for _, entry in ipairs(entries) do
      local score = string.find(entry, token .. ':', 1, true) == 1 and redis.call('ZSCORE', queueKey, entry)
      if score then
        return entry, score
      end
    end
  end

  -- A quarter of the patience is in reserve for tokens that are queued soon afterwards without this check, see
  -- lock-release.lua. The new expiry is twice the patience, which is sufficient for most further checks.
  function keep(_, _, claim)
    if redis.call('PTTL', queueKey) < 1.25 * patience(claim) then
      redis.call('PEXPIRE', queueKey, integer(2 * patience(claim)))
    end
  end

  -- The observation of the head expires by itself.
  function forget() end

  -- Only a head that waits for readers can be gone: without a question for its patience. The observation has the time
  -- when the head became the head, or its last question.
  function isGone(isCandidate, token, claim, _, waits)
    if not waits then
      return false
    end
    local value = not isCandidate and redis.pcall('GET', seenKey)
    local seen, at = string.match(type(value) == 'string' and value or '', '^(%x+:%d+) (%d+)$')
    if seen ~= token then
      redis.pcall('SET', seenKey, token .. ' ' .. integer(now), 'PX', integer(2 * patience(claim)))
    end
    return seen == token and now - at >= 1000 * patience(claim)
  end

  function hasToWait(reads)
    return owner or reads == '' and readUntil > millis
  end

  function remaining(token)
    if owner == token then
      return redis.call('PTTL', lockKey)
    end
    local ends = readUntil > 0 and tonumber(redis.call('ZSCORE', lockKey, token .. ':r'))
    return ends and ends > millis and ends - millis or nil
  end

  function lengthen(token, reads, time)
    if reads == '' then
      redis.call('SET', lockKey, token, 'PX', time)
      -- The owner replaces readers whose leases have ended.
      owner, readUntil = token, 0
    else
      redis.call('ZADD', lockKey, integer(millis + time), token .. ':r')
      readUntil, lengthened = math.max(readUntil, millis + time), true
    end
  end

  function hold(token, reads, time)
    advanceFence()
    lengthen(token, reads, time)
  end

  function endHold(token)
    if not remaining(token) then
      return false
    end
    if owner == token then
      redis.call('DEL', lockKey)
      owner = false
    else
      redis.call('ZREM', lockKey, token .. ':r')
      readUntil = tonumber(redis.call('ZRANGE', lockKey, -1, -1, 'WITHSCORES')[2]) or 0
    end
    return true
  end

  function describeHolders()
    if not owner then
      local readers = readUntil > 0 and redis.call('ZCOUNT', lockKey, '(' .. millis, '+inf') or 0
      return math.max(readUntil - millis, grace), 0, '', readers
    end
    local ttl = redis.call('PTTL', lockKey)
    if ttl == -1 and heal > 0 then
      redis.call('PEXPIRE', lockKey, heal)
      ttl = heal
    end
    local instance = instanceOf(owner)
    return ttl, instance and 0 or 1, instance or '', 0
  end

  -- Readers whose leases have ended are removed by the next usual case of lock-acquire.lua.
  function save()
    if lengthened then
      redis.call('PEXPIREAT', lockKey, integer(readUntil))
    end
    if changed then
      redis.call('SET', fenceKey, integer(fence), 'PX', integer(retention + math.max(0, math.ceil((fence - now) / 1000))))
    end
  end
else
  -- The operator's limit, unless the value is invalid.
  if string.find(limitValue or '', '^%d+$') and tonumber(limitValue) <= 1000000000 then
    fixedLimit = tonumber(limitValue)
  end

  local used, lastEnd, keyIsNew, newNote = tonumber(state[1]), tonumber(state[2]), false, {}
  -- The one or two holders whose leases end first, with the ends of their leases; nil if unknown.
  local first

  -- The state has a note about each waiter, by its token: the time of the last question, and the entry in the queue
  -- without the token. The note about a holder of more than one permit is the number of permits.
  local function noteOf(token)
    if notes[token] == nil then
      notes[token] = redis.call('HGET', stateKey, token)
    end
    return notes[token]
  end

  local function note(token, value)
    redis.call('HSET', stateKey, token, value)
    notes[token] = value
  end

  function forget(token)
    redis.call('HDEL', stateKey, token)
    notes[token] = false
  end

  -- All keys live until the end of the last known lease or wait.
  local function keepUntil(time)
    lastEnd, changed = math.max(lastEnd, time), true
  end

  function keep(token, entry, claim)
    newNote = { token, integer(now) .. string.sub(entry, #token + 1) }
    keyIsNew = keyIsNew or waiting == 1
    keepUntil(millis + patience(claim))
  end

  -- A missing state is restored from the holders and the queue. If both are empty, as after some time without use,
  -- there is nothing to restore.
  if not used or not lastEnd then
    used, lastEnd, notes = 0, lastEnd or 0, {}
    local entries = redis.call('ZRANGE', holdersKey, 0, -1, 'WITHSCORES')
    for i = 1, #entries, 2 do
      local token, permits = string.match(entries[i], '^(.*):(%d+)$')
      if token and permits ~= '1' then
        note(token, permits)
      end
      used = used + (permits or 0)
      keepUntil(tonumber(entries[i + 1]))
    end
    for _, entry in ipairs(redis.call('ZRANGE', queueKey, 0, -1)) do
      local token = string.match(entry, '^%x+:%d+') or ''
      note(token, integer(now) .. string.sub(entry, #token + 1))
      keepUntil(millis + redis.call('PTTL', queueKey))
    end
  end

  -- Remove ended leases.
  first = holders > 0 and redis.call('ZRANGE', holdersKey, 0, 1, 'WITHSCORES') or nil
  if first and tonumber(first[2]) <= millis then
    local ended = redis.call('ZRANGEBYSCORE', holdersKey, '-inf', integer(millis))
    redis.call('ZREMRANGEBYSCORE', holdersKey, '-inf', integer(millis))
    for _, entry in ipairs(ended) do
      local token, permits = string.match(entry, '^(.*):(%d+)$')
      if token and permits ~= '1' then
        forget(token)
      end
      used = used - (permits or 0)
    end
    holders, first, changed = holders - #ended, nil, true
  end
  if holders == 0 then
    used = 0
  end

  function parse(entry)
    local token, instance, permits, claim, limit, mode = string.match(entry, '^((%x+):%d+):(%d+):(%d+):(%d+):([sp])$')
    return token, instance, claim, mode, permits, limit
  end

  function find(token)
    local rest = string.match(noteOf(token) or '', '^%d+(:.*)$')
    local score = rest and redis.call('ZSCORE', queueKey, token .. rest)
    if score then
      return token .. rest, score
    end
  end

  -- A head is gone after its patience without a question. A waiter that arrived within this time does not have to ask
  -- again.
  function isGone(isCandidate, token, claim, arrival)
    local limit = 1000 * patience(claim)
    local age = now - arrival
    return not isCandidate and not (age >= 0 and age < limit)
        and now - (string.match(noteOf(token) or '', '^%d+') or arrival) >= limit
  end

  function hasToWait(permits, limit)
    limit = limitInForce(limit)
    return used + permits > limit and tonumber(permits) <= limit
  end

  function remaining(token, permits)
    local ends = tonumber(redis.call('ZSCORE', holdersKey, token .. ':' .. permits))
    return ends and ends - millis
  end

  function lengthen(token, permits, time)
    redis.call('ZADD', holdersKey, integer(millis + time), token .. ':' .. permits)
    keepUntil(millis + time)
  end

  function hold(token, permits, time)
    if permits ~= '1' then
      note(token, permits)
    end
    lengthen(token, permits, time)
    -- A lease that ends later is not the first to end.
    first = first and tonumber(first[2]) <= millis + time and first or nil
    keyIsNew = keyIsNew or holders == 0
    holders, used = holders + 1, used + permits
    advanceFence()
  end

  function endHold(token)
    -- The note about a waiter remains if the queue was deleted or evicted.
    local permits = string.match(noteOf(token) or '', '^%d+$') or '1'
    local entry = token .. ':' .. permits
    if redis.call('ZREM', holdersKey, entry) == 0 then
      return false
    end
    if noteOf(token) then
      forget(token)
    end
    holders, used, changed = holders - 1, used - permits, true
    if first and first[1] == entry then
      first = first[3] and { first[3], first[4] }
    end
    return true
  end

  function describeHolders(limit)
    local ttl = grace
    if grace == 0 then
      first = first or redis.call('ZRANGE', holdersKey, 0, 0, 'WITHSCORES')
      ttl = first[2] and first[2] - millis or 1000
    end
    return ttl, 0, '', used, limitInForce(limit)
  end

  -- Gives all keys the same expiry while there are holders or waiters. Otherwise, keeps only a fence that is ahead of
  -- the clock.
  function save()
    if holders == 0 and waiting == 0 then
      redis.call('DEL', stateKey)
      if fence > now then
        redis.call('HSET', stateKey, 'fence', integer(fence))
        redis.call('PEXPIREAT', stateKey, integer(math.ceil(fence / 1000)))
      end
    elseif changed then
      local ends = integer(lastEnd)
      redis.call('HSET', stateKey, 'used', integer(used), 'until', ends, 'asked', state[3] or 0, 'fence', integer(fence),
          unpack(newNote))
      if keyIsNew or ends ~= state[2] then
        for _, key in ipairs({ stateKey, queueKey, holdersKey }) do
          redis.call('PEXPIREAT', key, ends)
        end
      end
    end
  end
end

-- Returns whether a token wants more permits than the limit.
local function exceedsLimit(wanted, limit)
  return not isLock and tonumber(wanted) > limitInForce(limit)
end

-- Puts a token into the queue: in the place of its own entry, in the place of an entry that has left the queue, or
-- behind all.
local function enqueue(token, wanted, limit, claim, mode, own, score)
  local entry = isLock and token .. ':' .. claim .. ':' .. wanted .. mode
      or table.concat({ token, wanted, claim, limit, mode }, ':')
  if entry ~= own then
    local tail = not score and redis.call('ZRANGE', queueKey, -1, -1, 'WITHSCORES')[2]
    redis.call('ZADD', queueKey, score or integer(math.max(now, (tail or 0) + 1)), entry)
    if own then
      -- The token waits in another mode now. Its old entry is removed last: an empty set would be deleted together with
      -- its expiry.
      redis.call('ZREM', queueKey, own)
    else
      waiting = waiting + 1
    end
  end
  keep(token, entry, claim)
end

local function leaveQueue(token, entry)
  redis.call('ZREM', queueKey, entry)
  waiting = waiting - 1
  forget(token)
end

-- Grants to the caller, for the reply: token, fence and time of each.
local grants = {}

-- Notifies an instance of a grant. A time of 0 makes the token ask again.
local function notify(instance, token, time)
  if instance == caller then
    for _, value in ipairs({ token, integer(fence), time }) do
      table.insert(grants, value)
    end
  else
    send(instance, (isLock and 'L ' or 'S ') .. integer(fence) .. ' ' .. time .. ' ' .. token .. ' ' .. name)
  end
end

-- Grants the resource to the heads of the queue, one after the other. No waiter passes a head that does not fit. The
-- candidate gets its full lease, without a notification. All other tokens get their claims, and notifications. Returns
-- whether the candidate was served.
local function settle(candidate, lease)
  local served, head = false, {}
  while waiting > 0 and grace == 0 and not (isLock and owner) do
    -- Two at a time: usually, one token is served, and the next token has to wait.
    head = head[3] and { head[3], head[4] } or redis.call('ZRANGE', queueKey, 0, 1, 'WITHSCORES')
    local token, instance, claim, mode, wanted, limit = parse(head[1])
    local isCandidate = token ~= nil and token == candidate
    local waits = token and hasToWait(wanted, limit)
    -- The instance that sends this command is present.
    local absent = waits and not isCandidate and instance ~= caller and isAbsent(instance, mode)
    local alive = token and not absent and not isGone(isCandidate, token, claim, head[2], waits)
    if alive and waits then
      break
    end
    leaveQueue(token or '', head[1])
    if isCandidate then
      hold(token, wanted, lease)
      served = true
    elseif alive and (instance == caller or not isAbsent(instance, mode)) then
      -- A grant is never revoked, because its message cannot be revoked: subscribers of replicas receive the message,
      -- too.
      if exceedsLimit(wanted, limit) then
        advanceFence()
        claim = 0
      else
        hold(token, wanted, claim)
      end
      notify(instance, token, claim)
    end
  end
  return served
end

-- Processes a question of a token. Grants a free resource if, for a fair request, no waiter comes first. Otherwise,
-- queues the token, unless its mode is ''. The limit and fair (0 or 1) are for permits only.
-- Returns {1, fence, ttl} if the token holds the resource; {-1, limit} for a request of more permits than the limit;
-- otherwise {0, time until the lease of the owner, of the last reader, or of the first holder of permits ends (-1
-- without expiry), last fence, whether the owner is foreign (0 or 1), rest of the grace, instance of the owner or '',
-- number of readers, or of permits in use and the limit}. Times are in milliseconds.
local function ask(token, wanted, lease, claim, mode, limit, fair)
  lease = tonumber(lease)
  if not isLock and state[3] ~= limit then
    state[3], changed = limit, true
  end
  local entry, score = find(token, wanted, claim)
  local ttl = remaining(token, wanted)
  if entry or ttl then
    -- Removes nothing. With full memory, Redis allows a removal as the first write, and then all further writes. So
    -- tokens that wait or hold get their turn.
    redis.call('ZREM', queueKey, '')
  end
  local exceeds = exceedsLimit(wanted, limit)
  if entry and (ttl or exceeds) then
    leaveQueue(token, entry)
  end
  if ttl and ttl < lease then
    lengthen(token, wanted, lease)
    ttl = lease
  end
  if ttl and fence == 0 then
    -- The fence of this grant is lost. A new fence is better than none.
    advanceFence()
  end
  if ttl or exceeds then
    settle()
    save()
    return ttl and { 1, integer(fence), ttl } or { -1, limitInForce(limit) }
  end

  local served = settle(token, lease)
  if not served and grace == 0 and (waiting == 0 or fair == '0') and not hasToWait(wanted, limit) then
    if entry then
      leaveQueue(token, entry)
    end
    hold(token, wanted, lease)
    served = true
  end
  if not served and mode ~= '' then
    enqueue(token, wanted, limit, claim, mode, entry, score)
  end
  save()
  if served then
    return { 1, integer(fence), lease }
  end
  -- The last fence, by which a waiter recognizes outdated notifications. Without a known fence, now - 1 is not below
  -- any earlier fence. serverSince is above all fences of previous servers, which this server may not know.
  local lastFence = integer(math.max(fence > 0 and fence or now - 1, serverSince))
  local ownerTtl, foreign, instance, held, actualLimit = describeHolders(limit)
  return { 0, ownerTtl, lastFence, foreign, grace, instance, held, actualLimit }
end

-- Ends a token that holds or waits. Then processes the question of a next token, if any: next has the arguments of
-- ask().
-- Returns {released (1 or 0; 2 for not released during a grace), number of values for next: 0 if next was not
-- processed, these values, as of ask(), and for each grant to the caller the token, the fence and the time}.
local function release(token, wanted, claim, next)
  local entry, score = find(token, wanted, claim)
  if entry then
    leaveQueue(token, entry)
  end
  local released = endHold(token)
  local answer = {}
  -- Only a token in use brings in next. A late copy of this command must not revive next.
  local own = next and find(next[1], next[2], next[4])
  if next and (released or entry or own or remaining(next[1], next[2])) then
    -- next gets the place of a token that waited exclusively. No other waiter is passed by that, because an instance
    -- has a single place for all its exclusive requests.
    if isLock and entry and not own and next[2] == '' and not string.find(entry, ':r[sp]$')
        and not remaining(next[1], '') then
      enqueue(next[1], '', nil, next[4], next[5], nil, score)
    end
    answer = ask(unpack(next))
  else
    settle()
    save()
  end
  local result = { released and 1 or grace > 0 and 2 or 0, #answer, unpack(answer) }
  for _, value in ipairs(grants) do
    table.insert(result, value)
  end
  return result
end

-- Ends the leases of tokens by force, and notifies their instances. Returns for each token whether there was a lease (0
-- or 1).
local function force(tokens)
  local ended = {}
  for i, token in ipairs(tokens) do
    local instance = instanceOf(token)
    ended[i] = endHold(token) and 1 or 0
    if ended[i] == 1 and instance then
      -- Before the notifications of new grants. All grants to the token with a lower fence have ended.
      send(instance, 'E ' .. integer(nextFence()) .. ' ' .. token)
    end
  end
  settle()
  save()
  return ended
end
