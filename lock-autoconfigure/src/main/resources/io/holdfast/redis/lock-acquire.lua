-- Requests a lock, exclusively or for reading. Only the server's time decides.
--
-- KEYS: the lock, its queue, its last fence, and the observation of its first waiter; with a fail-over grace also the
-- key of grace.lua.
-- ARGV: the token; r for reading or '' for an exclusive lock; the lease and the claim in milliseconds; the mode for
-- waiting in the queue (s if subscribed, p if polling), or '' for no waiting.
-- Returns the fence if the lock was free; {1, fence, ttl} if the token has the lock; otherwise {0, time until the lease
-- of the owner or the last reader ends (-1 without expiry), last fence, whether the owner is foreign (0 or 1), rest of
-- the grace, instance of the owner or '', number of readers}. Times are in milliseconds. See ask() in lib-queue.lua.
--
-- All reads precede all writes: a key of a wrong type ends the script before any change.

local lockKey, queueKey, fenceKey, seenKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local waiting = redis.call('ZCARD', queueKey)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local last = redis.call('GET', fenceKey)

-- The usual case comes before the definition of functions, to save time: no waiter, no fence of version 1, and the lock
-- is free. The next fence is at least "least". If a write fails, as with full memory, the rest of the script decides.
local least = not last and 0 or #last == 16 and (tonumber(last) or 1e16) + 64 or 1e16
if waiting == 0 and grace == 0 and least < 1e16 then
  local taken
  if ARGV[2] == '' then
    local reply = redis.pcall('SET', lockKey, ARGV[1], 'NX', 'PX', ARGV[3])
    taken = reply and reply.ok
  else
    local reader = redis.pcall('ZRANGE', lockKey, -1, -1, 'WITHSCORES')
    if not reader.err and (not reader[1] or string.find(reader[1], '^%x+:%d+:r$')) then
      local millis = math.floor(now / 1000)
      local ends = millis + ARGV[3]
      taken = redis.pcall('ZADD', lockKey, 'NX', ends, ARGV[1] .. ':r') == 1
      if taken and reader[1] then
        redis.call('ZREMRANGEBYSCORE', lockKey, '-inf', millis)
      end
      if taken and (tonumber(reader[2]) or 0) < ends then
        redis.call('PEXPIREAT', lockKey, ends)
      end
    end
  end
  if taken then
    local fence = math.max(least, now)
    redis.call('SET', fenceKey, fence, 'PX', least > now and retention + math.ceil((least - now) / 1000) or retention)
    return fence
  end
end

local owner = redis.pcall('GET', lockKey)
-- The last fence, without the second number of version 1.
local fence = tonumber(string.match(last or '', '^(%d+) ?%d*$')) or 0
local isLock, name, caller = true, string.sub(lockKey, prefixLength + 1), nil

-- lib
-- lib-owner
-- lib-queue

return ask(unpack(ARGV))
