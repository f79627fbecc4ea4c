-- Inspects a lock or a semaphore. Changes nothing.
--
-- KEYS: as in lock-acquire.lua or permits-acquire.lua. ARGV: whether the resource is a lock (0 or 1); the maximum
-- numbers of holders and of waiters to return.
-- Returns {exclusive owner, nil without an owner, '' for readers or a writer of version 1; time until the lock is free
-- in milliseconds, -1 without expiry, 0 if free; last fence of the lock; operator's limit or nil; limit of the last
-- request; permits in use; number of holders; number of waiters; number of returned holders, 0 with an exclusive owner;
-- for each returned holder, in the order of the ends of their leases, the entry and the remaining milliseconds; the
-- entries of waiters}.

local isLock, maxHolders, maxWaiters = ARGV[1] == '1', ARGV[2], ARGV[3]
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))

-- Reads a companion. Its value by another program does not hide the holders from operators.
local function read(default, ...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    return maxWaiters ~= '0' and string.find(reply.err, 'WRONGTYPE', 1, true) and default or redis.call(...)
  end
  return reply
end

-- Returns a number of permits, or nil for another value.
local function number(text)
  local permits = text and string.find(text, '^%d+$') and tonumber(text)
  return permits and permits <= 1000000000 and permits or nil
end

local function sum(from, to)
  local permits = 0
  for _, entry in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], from, to)) do
    permits = permits + (number(string.match(entry, ':(%d+)$')) or 0)
  end
  return math.min(permits, 2147483647)
end

local lockKey = KEYS[1]
local owner = isLock and redis.pcall('GET', lockKey)

-- lib-owner

local holders = owner and 1 or redis.call('ZCOUNT', KEYS[1], '(' .. now, '+inf')
local returned = (owner or holders == 0) and {}
    or redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, maxHolders)

local result
if isLock then
  local fence = tonumber(string.match(read('0', 'GET', KEYS[3]) or '', '^(%d+) ?%d*$')) or 0
  if not (fence >= 0 and fence < 9e18) then
    -- The value of another program is no fence.
    fence = 0
  end
  result = { owner, owner and redis.call('PTTL', lockKey) or math.max(0, readUntil - now), string.format('%.0f', fence),
    false, 0, 0 }
else
  local used = number(read('', 'HGET', KEYS[3], 'used'))
  if used and holders > 0 then
    -- The state also counts ended leases that no request has removed yet.
    used = used - sum('-inf', now)
  else
    used = sum('(' .. now, '+inf')
  end
  result = { false, 0, 0, number(read('', 'GET', KEYS[4])) or false, number(read('', 'HGET', KEYS[3], 'asked')) or 0, used }
end
result[7], result[8], result[9] = holders, read(0, 'ZCARD', KEYS[2]), #returned / 2
for i = 1, #returned, 2 do
  table.insert(result, returned[i])
  table.insert(result, returned[i + 1] - now)
end
if maxWaiters ~= '0' then
  for _, entry in ipairs(read({}, 'ZRANGE', KEYS[2], 0, maxWaiters - 1)) do
    table.insert(result, entry)
  end
end
return result
