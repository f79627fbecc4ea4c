-- Shared by the scripts of the exclusive lock that grant it, for all but their usual cases.

-- How long readers or a writer of a read-write lock have the key, which then is a sorted set of them by the ends of their
-- leases. To this script they are a foreign owner without a name, until all are over. Any other type is an error, as is a sorted set of another program.
local sharedTtl
if type(owner) == 'table' then
  local last = string.find(owner.err, 'WRONGTYPE', 1, true) and redis.call('ZRANGE', lockKey, -1, -1, 'WITHSCORES')
  if not last or not string.find(last[1], '^%x+:%d+:%d+$') then
    return owner
  end
  local ttl = last[2] - math.floor(now / 1000)
  owner = ttl > 0 and '' or false
  sharedTtl = owner and ttl
end

-- The last fence, for telling old hand-offs from new ones. If it is gone, all before now were lower than this; and all of
-- servers before this one, of which it may know too little, were lower than the time when that began.
local function lastFence()
  return math.max(fence > 0 and fence or now - 1, serverSince)
end

local function instanceOf(token)
  local instance = string.match(token, '^(%x+):%d+$')
  return instance and #instance == 32 and instance or nil
end

-- How long the owner has the key from now, -1 for no end; or it is kept for one that is not known here.
local function ownerTtl()
  return owner and (sharedTtl or granted or redis.call('PTTL', lockKey)) or grace
end

local function userKey()
  return string.sub(lockKey, prefixLength + 1)
end

local function isForeign(value)
  return value and instanceOf(value) == nil
end

-- Where a token stands in the queue, in whatever mode: the position of its member in the list of members and scores.
local function find(token)
  local prefix = token .. ':'
  for i = 1, #queue, 2 do
    if string.sub(queue[i], 1, #prefix) == prefix then
      return i
    end
  end
end

local function removeAt(i)
  table.remove(queue, i)
  return tonumber(table.remove(queue, i))
end

-- Puts a token into the queue unless it is there: at the given score, or else behind everybody.
local function enqueue(token, claim, mode, score)
  local member = token .. ':' .. claim .. ':' .. mode
  local i = find(token)
  if i and queue[i] ~= member then
    -- It now waits in another way: the same place, another entry.
    redis.call('ZREM', queueKey, queue[i])
    redis.call('ZADD', queueKey, queue[i + 1], member)
    queue[i] = member
  elseif not i then
    local tail = tonumber(queue[#queue]) or 0
    score = score or math.max(now, tail + 1)
    redis.call('ZADD', queueKey, score, member)
    i = 1
    while queue[i] and tonumber(queue[i + 1]) <= score do
      i = i + 2
    end
    table.insert(queue, i, score)
    table.insert(queue, i, member)
  end
  -- At least four times the longest time after which a waiter asks again, and a quarter of that for those who come soon after
  -- and do not look (see lock-release-next.lua). Twice as long, so that most who look need not set it.
  local queueTtl = 2 * math.max(tonumber(claim), handoffTimeout)
  if redis.call('PTTL', queueKey) < 1.25 * queueTtl then
    redis.call('PEXPIRE', queueKey, 2 * queueTtl)
  end
end

-- Tells an instance of its grant. False, and nothing is sent, if its subscription is certainly not at this server.
local function wakeUp(kind, token, millis, mode)
  local instance = instanceOf(token)
  if isAbsent(instance, mode) then
    return false
  end
  send(instance, kind .. ' ' .. integer(fence) .. ' ' .. millis .. ' ' .. token .. ' ' .. userKey())
  return true
end

-- Gives the lock, which counts as absent, to the head of the queue; if its instance is gone, to the one behind it.
-- Leaves no owner if none took it; the key may then still hold the last one that was tried.
--
-- The place of a reader or writer, whose mode ends with r, is for the first of the other queue. This script does not know
-- that queue. So it reserves the key for the claim and has that waiter ask: see permits-shared.lua.
local function settle(candidate)
  while #queue > 0 and grace == 0 do
    local member = queue[1]
    redis.call('ZREM', queueKey, member)
    removeAt(1)
    local token, claim, mode, shared = string.match(member, '^(%x+:%d+):(%d+):([sp])(r?)$')
    if token and instanceOf(token) and #claim < 16 and tonumber(claim) > 0 then
      grant(shared == 'r' and token .. ':r' or token, claim)
      if owner == candidate or wakeUp(shared == 'r' and 'R' or 'L', token, shared == 'r' and 0 or claim, mode) then
        return
      end
      owner = false
    end
  end
end

-- The owner's lease lasts at least this long from now on; it is never shortened.
local function lengthen(millis)
  local ttl = redis.call('PTTL', lockKey)
  if ttl < millis then
    redis.call('PEXPIRE', lockKey, millis)
    ttl = millis
  end
  if fence == 0 then
    -- The fence of this grant is gone: give it a new one rather than none.
    advanceFence()
  end
  return ttl
end
