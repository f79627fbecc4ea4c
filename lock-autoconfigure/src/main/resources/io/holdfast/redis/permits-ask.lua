-- How a token asks for permits. Put before the scripts that do so.

local function granted(ttl)
  save()
  return { 1, integer(fence), ttl }
end

-- Takes permits for a token if they are free and, if it is fair, there is no waiter before it. Returns {1, fence, ttl} if the
-- token holds its permits; {-1, limit} if it asks for more than there are; else {0, time until the first lease ends, last
-- fence, owner is foreign (0 or 1), what is left of the grace}.
--
-- Arguments: what is said of the token; then, as they are in ARGV, token, permits, limit, fair (0 or 1), a token that holds
-- all permits and grants this one beside itself or '', lease, claim, mode, enqueue (0 or 1).
local function ask(said, token, permits, limit, fair, under, lease, claim, mode, enqueue)
  asker = token
  if asked ~= limit then
    asked, changed = limit, true
  end

  local entry = findWaiter(token, said)
  local held = permitsOf(said)
  local ends = findEnd(token, held)
  if entry or ends or excluded and enqueue ~= '1' then
    -- Removes nothing, but is a first write that Redis allows when its memory is full: so a token that is known already has its
    -- turn then, too, and one that does not wait is told of the owner.
    redis.call('ZREM', queueKey, '')
  end
  if entry then
    local other = string.sub(entry, 1, -2) .. mode
    if other ~= entry then
      -- It now waits in another way: the same place, another entry. In this order: an empty set would be gone, and its
      -- expiry with it.
      redis.call('ZADD', queueKey, redis.call('ZSCORE', queueKey, entry), other)
      redis.call('ZREM', queueKey, entry)
      removeMarker(entry)
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
  -- The limit of a read-write lock is what its writer holds.
  local isUnder = under ~= '' and grace == 0 and findEnd(under, limit)
  if not isUnder then
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
  end
  local mayPass = (waiting == 0 or fair ~= '1') and not rival[1]
  if isUnder or not excluded and grace == 0 and mayPass and used + permits <= most then
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
  if excluded then
    local ttl = redis.call('PTTL', holdersKey)
    if ttl == -1 and heal > 0 then
      redis.call('PEXPIRE', holdersKey, heal)
      ttl = heal
    end
    return { 0, ttl, lastFence, 1, grace }
  end
  if grace > 0 then
    return { 0, grace, lastFence, 0, grace }
  end
  first = first or redis.call('ZRANGE', holdersKey, 0, 0, 'WITHSCORES')
  -- No message comes when those that wait for the key exclusively give up: it is to ask again soon.
  return { 0, first[2] and first[2] - now or 1000, lastFence, rival[1] and 1 or 0, 0 }
end

