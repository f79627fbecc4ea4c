-- Takes permits for a token if they are free and, if it is fair, nobody waits before it.
--
-- ARGV, further: token, permits, limit, fair (0 or 1), a token that holds all permits and grants this one beside itself or
-- '', lease, claim, mode, enqueue (0 or 1).
-- Returns {1, fence, ttl} if the token holds its permits; {-1, limit} if it asks for more than there are; else {0, time
-- until the first lease ends, last fence, owner is foreign (0 or 1), what is left of the grace}.

local token, permits, limit, fair, under = ARGV[3], ARGV[4], ARGV[5], ARGV[6] == '1', ARGV[7]
local lease, claim, mode, enqueue = tonumber(ARGV[8]), ARGV[9], ARGV[10], ARGV[11] == '1'

local function granted(ttl)
  save()
  return { 1, integer(fence), ttl }
end

dropEnded()
if asked ~= limit then
  asked, changed = limit, true
end

local entry = findWaiter(token)
if entry then
  local other = string.sub(entry, 1, -2) .. mode
  if other ~= entry then
    -- It now waits in another way: the same place, another entry.
    local place = redis.call('ZSCORE', queueKey, entry)
    redis.call('ZREM', queueKey, entry)
    redis.call('ZADD', queueKey, place, other)
    entry = other
  end
  stamp(token, entry)
  keepUntil(now + patience(claim))
end

local held, ends = findHolder(token)
if held then
  if ends < now + lease then
    ends = now + lease
    redis.call('ZADD', holdersKey, integer(ends), token .. ':' .. held)
    keepUntil(ends)
  end
  if fence == 0 then
    -- The fence of this grant is gone: give it a new one rather than none.
    advanceFence()
  end
  return granted(ends - now)
end

local function take()
  if entry then
    leaveQueue(token, entry)
  end
  hold(token, permits, lease)
  return granted(lease)
end

if not excluded then
  -- The limit of a read-write lock is what its writer holds.
  if under ~= '' and grace == 0 and redis.call('ZSCORE', holdersKey, under .. ':' .. limit) then
    return take()
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
  if grace == 0 and (waiting == 0 or not fair) and used + permits <= most then
    return take()
  end
end

if enqueue and not entry then
  entry = token .. ':' .. permits .. ':' .. claim .. ':' .. limit .. ':' .. mode
  local tail = redis.call('ZRANGE', queueKey, -1, -1, 'WITHSCORES')
  redis.call('ZADD', queueKey, integer(math.max(micros, (tail[2] or 0) + 1)), entry)
  waiting = waiting + 1
  stamp(token, entry)
  keepUntil(now + patience(claim))
end
save()
if excluded then
  return { 0, redis.call('PTTL', holdersKey), lastFence(), 1, grace }
end
if grace > 0 then
  return { 0, grace, lastFence(), 0, grace }
end
local first = redis.call('ZRANGE', holdersKey, 0, 0, 'WITHSCORES')
return { 0, first[2] and first[2] - now or 1000, lastFence(), 0, 0 }
