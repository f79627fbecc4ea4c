-- The queue of a lock or a semaphore, put where a script says "lib-queue", behind "lib". First the differences of the two
-- kinds, then what they have in common: settle, ask, release and force, which a script calls, and save.
--
-- Needs of both: isLock; name, the key as its user named it; queueKey; waiting, the length of the queue; now, the
-- server's time in microseconds; fence, the last one, or 0; listener, the instance that learns of its grants by the
-- reply, or nil.
-- Needs of locks: lockKey, fenceKey, seenKey; owner and readUntil, as lib-owner sets them.
-- Needs of permits: holdersKey, stateKey; holders, their number; state, the reply to HMGET of used, until, asked and
-- fence; said, by token what the state says of it, or false; limitValue, the value of the limit key.
-- Changes owner, readUntil, waiting, holders, fence, state and said.

local millis = math.floor(now / 1000)
local changed = false
local fixedLimit

-- All digits, in a text: alone, Redis takes a number in all of its digits.
local function integer(number)
  return string.format('%.0f', number)
end

-- Follows the clock as well as the last fence, so that it also grows if the last one was lost or has expired.
local function nextFence()
  return math.max(fence + (isLock and 64 or 1), now)
end

local function advanceFence()
  fence, changed = nextFence(), true
end

-- How long a waiter counts as alive without asking again, in milliseconds: four times the longest time after which it
-- asks.
local function patience(claim)
  return 2 * math.max(tonumber(claim), handoffTimeout)
end

local function instanceOf(token)
  local instance = string.match(token, '^(%x+):%d+$')
  return instance and #instance == 32 and instance or nil
end

-- The differences. What a token has or wants is r to read or '' for an exclusive lock, or a number of permits.
--
-- parse(entry): token, instance, claim, mode (s of a subscribed instance, p of one that polls), what it wants, and of
-- permits the limit; nothing if another version or program wrote the entry.
-- find(token, what, claim): its entry in the queue and the score, or nothing.
-- keep(token, entry, claim): sees to it that the queue lives long enough for a waiter that has just asked.
-- forget(token): removes what is kept of a waiter besides its entry.
-- isGone(isCandidate, token, claim, arrival, instance, mode, what): whether the head of the queue has died.
-- hasToWait(what, limit): whether others hold too much.
-- remaining(token, what): the rest of its lease in milliseconds, nil without a lease.
-- hold(token, what, time), lengthen(token, what, time), endHold(token): endHold returns false without a hold.
-- others(limit): how long others hold at most; whether the owner is foreign (0 or 1); the owner's instance or '';
-- the number of readers, or the permits in use; and the limit.
-- save(): writes the notes of the others.
local parse, find, keep, forget, isGone, hasToWait, remaining, hold, lengthen, endHold, others, save

if isLock then
  -- Whether the lock key has to live until readUntil from now on.
  local lengthened = false

  function parse(entry)
    local token, instance, claim, reads, mode = string.match(entry, '^((%x+):%d+):([1-9]%d*):(r?)([sp])$')
    if token and #instance == 32 and #claim < 16 then
      return token, instance, claim, mode, reads
    end
  end

  -- Only where its claim is not known, all of the queue is read.
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

  -- A quarter longer for those who come soon after and do not look, see lock-release.lua. Twice as long, so that most
  -- who look need not set it.
  function keep(_, _, claim)
    if redis.call('PTTL', queueKey) < 1.25 * patience(claim) then
      redis.call('PEXPIRE', queueKey, integer(2 * patience(claim)))
    end
  end

  -- What was seen of the head of the queue ends by itself.
  function forget() end

  -- Only while it waits for readers to end: without a subscription, or if it has not asked for long. The head of the
  -- queue is seen when it becomes that, and when it asks.
  function isGone(isCandidate, token, claim, _, instance, mode, reads)
    if not hasToWait(reads) then
      return false
    end
    if not isCandidate and isAbsent(instance, mode) then
      return true
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
      -- It has taken the place of readers whose leases have ended.
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

  function others()
    local ttl = not owner and math.max(readUntil - millis, grace) or redis.call('PTTL', lockKey)
    if ttl == -1 and heal > 0 then
      redis.call('PEXPIRE', lockKey, heal)
      ttl = heal
    end
    local instance = owner and instanceOf(owner)
    return ttl, owner and not instance and 1 or 0, instance or '',
        readUntil > 0 and redis.call('ZCOUNT', lockKey, '(' .. millis, '+inf') or 0
  end

  -- The next usual case removes readers whose leases have ended, see lock-acquire.lua.
  function save()
    if lengthened then
      redis.call('PEXPIREAT', lockKey, integer(readUntil))
    end
    if changed then
      redis.call('SET', fenceKey, integer(fence), 'PX', integer(retention + math.max(0, math.ceil((fence - now) / 1000))))
    end
  end
else
  -- The limit of an operator, unless what stands there is none.
  if string.find(limitValue or '', '^%d+$') and tonumber(limitValue) <= 1000000000 then
    fixedLimit = tonumber(limitValue)
  end

  local used, lastEnd, keyIsNew, noted = tonumber(state[1]), tonumber(state[2]), false, {}
  -- The one or two holders whose leases end first, with these times, or nil if they have to be looked up.
  local first

  -- The state tells of each waiter, by its token, when it asked last and its entry in the queue without the token; of
  -- each holder of more than one permit, how many.
  local function saidOf(token)
    if said[token] == nil then
      said[token] = redis.call('HGET', stateKey, token)
    end
    return said[token]
  end

  local function note(token, value)
    redis.call('HSET', stateKey, token, value)
    said[token] = value
  end

  function forget(token)
    redis.call('HDEL', stateKey, token)
    said[token] = false
  end

  -- All keys live until the last lease or wait has ended that is known of.
  local function keepUntil(time)
    lastEnd, changed = math.max(lastEnd, time), true
  end

  function keep(token, entry, claim)
    noted = { token, integer(now) .. string.sub(entry, #token + 1) }
    keyIsNew = keyIsNew or waiting == 1
    keepUntil(millis + patience(claim))
  end

  -- What the state says is gone: it is learned anew from the holders and the queue; if both are empty, as after a while
  -- without use, there is nothing to learn.
  if not used or not lastEnd then
    used, lastEnd, said = 0, lastEnd or 0, {}
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

  -- Leases that are over.
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
    local rest = string.match(saidOf(token) or '', '^%d+(:.*)$')
    local score = rest and redis.call('ZSCORE', queueKey, token .. rest)
    if score then
      return token .. rest, score
    end
  end

  -- As it has not asked for long. A waiter that came so recently need not have asked again.
  function isGone(isCandidate, token, claim, arrival)
    local limit = 1000 * patience(claim)
    local age = now - arrival
    return not isCandidate and not (age >= 0 and age < limit)
        and now - (string.match(saidOf(token) or '', '^%d+') or arrival) >= limit
  end

  function hasToWait(permits, limit)
    limit = fixedLimit or tonumber(limit)
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
    -- One that ends later is not the first.
    first = first and tonumber(first[2]) <= millis + time and first or nil
    keyIsNew = keyIsNew or holders == 0
    holders, used = holders + 1, used + permits
    advanceFence()
  end

  function endHold(token)
    -- What is said of a waiter is still there if the queue was deleted or evicted.
    local permits = string.match(saidOf(token) or '', '^%d+$') or '1'
    local entry = token .. ':' .. permits
    if redis.call('ZREM', holdersKey, entry) == 0 then
      return false
    end
    if saidOf(token) then
      forget(token)
    end
    holders, used, changed = holders - 1, used - permits, true
    if first and first[1] == entry then
      first = first[3] and { first[3], first[4] }
    end
    return true
  end

  function others(limit)
    first = first or redis.call('ZRANGE', holdersKey, 0, 0, 'WITHSCORES')
    return grace > 0 and grace or first[2] and first[2] - millis or 1000, 0, '', used, fixedLimit or tonumber(limit)
  end

  -- Lets all keys of what is held or waited for live equally long. Without either, only a fence is left that is ahead of
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
          unpack(noted))
      if keyIsNew or ends ~= state[2] then
        for _, key in ipairs({ stateKey, queueKey, holdersKey }) do
          redis.call('PEXPIREAT', key, ends)
        end
      end
    end
  end
end

-- Whether a token asks for more permits than there are.
local function isTooMuch(what, limit)
  return not isLock and tonumber(what) > (fixedLimit or tonumber(limit))
end

-- Puts a token into the queue: in the place of an entry of its own, or of one that has left the queue, or behind all.
local function enqueue(token, what, limit, claim, mode, own, score)
  local entry = isLock and token .. ':' .. claim .. ':' .. what .. mode
      or table.concat({ token, what, claim, limit, mode }, ':')
  if entry ~= own then
    local tail = not score and redis.call('ZRANGE', queueKey, -1, -1, 'WITHSCORES')[2]
    redis.call('ZADD', queueKey, score or integer(math.max(now, (tail or 0) + 1)), entry)
    if own then
      -- It waits in another way now. Not before: an empty set would be gone, and its expiry with it.
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

-- The grants that the listener learns of by the reply: token, fence and time of each.
local told = {}

-- Tells an instance of a grant, or by 0 for its time that it is to ask again.
local function tell(instance, token, time)
  if instance == listener then
    for _, value in ipairs({ token, integer(fence), time }) do
      table.insert(told, value)
    end
  else
    send(instance, (isLock and 'L ' or 'S ') .. integer(fence) .. ' ' .. time .. ' ' .. token .. ' ' .. name)
  end
end

-- Grants what is free to the heads of the queue, for as long as they fit: none passes a head that does not. The candidate
-- has its full lease and is not told; all others have their claims. Tells whether the candidate was served.
local function settle(candidate, lease)
  local served, head = false, {}
  while waiting > 0 and grace == 0 and not (isLock and owner) do
    -- Two at a time: most often one is served, and the next has to wait.
    head = head[3] and { head[3], head[4] } or redis.call('ZRANGE', queueKey, 0, 1, 'WITHSCORES')
    local token, instance, claim, mode, what, limit = parse(head[1])
    local isCandidate = token ~= nil and token == candidate
    local alive = token and not isGone(isCandidate, token, claim, head[2], instance, mode, what)
    if alive and hasToWait(what, limit) then
      break
    end
    leaveQueue(token or '', head[1])
    if isCandidate then
      hold(token, what, lease)
      served = true
    elseif alive and (instance == listener or not isAbsent(instance, mode)) then
      -- A grant is never taken back, as a message cannot be: replicas hear it, too.
      if isTooMuch(what, limit) then
        advanceFence()
        claim = 0
      else
        hold(token, what, claim)
      end
      tell(instance, token, claim)
    end
  end
  return served
end

-- Has a token ask: grants what it wants if that is free and, if it is fair, without waiters before it. Else it is put into
-- the queue, unless its mode is ''. The limit and fair (0 or 1) are of permits.
-- Returns {1, fence, ttl} if the token holds what it wants; {-1, limit} if it wants more permits than there are; else {0,
-- how long others hold at most (-1 for no end), last fence, whether the owner is foreign (0 or 1), what is left of the
-- grace, the owner's instance or '', the number of readers; or the permits in use, and the limit}.
local function ask(token, what, lease, claim, mode, limit, fair)
  lease = tonumber(lease)
  if not isLock and state[3] ~= limit then
    state[3], changed = limit, true
  end
  local entry, score = find(token, what, claim)
  local ttl = remaining(token, what)
  if entry or ttl then
    -- Removes nothing, but is a first write that Redis allows when its memory is full: so one that waits or holds has its
    -- turn then, too.
    redis.call('ZREM', queueKey, '')
  end
  local tooMuch = isTooMuch(what, limit)
  if entry and (ttl or tooMuch) then
    leaveQueue(token, entry)
  end
  if ttl then
    if ttl < lease then
      lengthen(token, what, lease)
      ttl = lease
    end
    if fence == 0 then
      -- The fence of this grant is gone: give it a new one rather than none.
      advanceFence()
    end
  end
  if ttl or tooMuch then
    settle()
    save()
    return ttl and { 1, integer(fence), ttl } or { -1, fixedLimit or tonumber(limit) }
  end

  local served = settle(token, lease)
  if not served and grace == 0 and (waiting == 0 or fair == '0') and not hasToWait(what, limit) then
    if entry then
      leaveQueue(token, entry)
    end
    hold(token, what, lease)
    served = true
  end
  if not served and mode ~= '' then
    enqueue(token, what, limit, claim, mode, entry, score)
  end
  save()
  if served then
    return { 1, integer(fence), lease }
  end
  -- The last fence, for telling old hand-offs from new ones. If it is gone, all before now were lower than this; and all
  -- of servers before this one, of which it may know too little, were lower than the time when that began.
  local lastFence = integer(math.max(fence > 0 and fence or now - 1, serverSince))
  local longest, foreign, instance, held, all = others(limit)
  return { 0, longest, lastFence, foreign, grace, instance, held, all }
end

-- Ends a token, whether it holds or waits. Then next asks, if there is one: its arguments as ask() takes them. Returns
-- {released (0 or 1; 2 if not, during a grace), how many values tell of next: 0 if it did not ask; these, as ask()
-- returns them; and of each grant to the listener the token, the fence, for how long}.
local function release(token, what, claim, next)
  local entry, score = find(token, what, claim)
  if entry then
    leaveQueue(token, entry)
  end
  local released = endHold(token)
  local answer = {}
  -- Only a token that was still in use brings in the next one. A late copy of this command must not revive it.
  local own = next and find(next[1], next[2], next[4])
  if next and (released or entry or own or remaining(next[1], next[2])) then
    -- The place of a token that waited exclusively: next passes no other by that, as their instance has one place for all
    -- that want the lock exclusively.
    if isLock and entry and not own and next[2] == '' and not string.find(entry, ':r[sp]$')
        and not remaining(next[1], '') then
      enqueue(next[1], '', nil, next[4], next[5], nil, score)
    end
    answer = ask(unpack(next))
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
end

-- Ends tokens that hold, by force, and tells their instances. Returns for each whether it held anything (0 or 1).
local function force(tokens)
  local ended, ofInstance = {}, {}
  for i, token in ipairs(tokens) do
    local instance = instanceOf(token)
    ended[i] = endHold(token) and 1 or 0
    if ended[i] == 1 and instance then
      ofInstance[instance] = ofInstance[instance] or {}
      table.insert(ofInstance[instance], token)
    end
  end
  -- Before others hear of their grants. All that these tokens were granted with a lower fence than the next has ended.
  for instance, those in pairs(ofInstance) do
    send(instance, 'E ' .. integer(nextFence()) .. ' ' .. table.concat(those, ' '))
  end
  settle()
  save()
  return ended
end
