-- Renews leases, all of locks or all of permits. Never shortens a lease, unless its time is negative.
--
-- KEYS: the lock of each lease; or the holders, queue and state of each lease of permits. With a fail-over grace also
-- the key of grace.lua.
-- ARGV: the holder of each lease: the token, with ":r" for a reader, or with ":" and the number of permits. Then, for
-- each lease or once for all, the minimum time from now in milliseconds. A negative time sets the end, also to an
-- earlier time.
-- Returns {number of leases, positions (from 1) of the leases that their tokens do not hold}.

-- A lease of permits has three keys, and at most two arguments.
local ofPermits = keyCount > #ARGV
local count = ofPermits and keyCount / 3 or keyCount

-- Since Redis 7, one command lengthens without ever shortening.
local longer = redis.REDIS_VERSION_NUM and 'GT'

-- All owners by one command. Not during a grace, when another type differs from a missing key. If the command fails, as
-- between slots of a cluster, the owners are read one by one.
local owners = not ofPermits and grace == 0 and redis.pcall('MGET', unpack(KEYS, 1, keyCount)) or {}

-- Returns whether the holder of a key is unknown. A lease that a value of another type has replaced is lost, and must
-- not prevent the renewal of other leases.
local function isUnknown(reply)
  return type(reply) == 'table' and reply.err and not string.find(reply.err, 'WRONGTYPE', 1, true)
end

-- Renews a lease of a reader, or of permits. Returns whether the token holds the lease, or an error if that is unknown.
local now
local function renewMember(key, holder, lease, queue, state)
  local ends, lastEnd = redis.pcall('ZSCORE', key, holder), state and redis.pcall('HGET', state, 'until')
  for _, reply in ipairs({ ends or 0, lastEnd or 0, queue and redis.pcall('ZCARD', queue) or 0 }) do
    if type(reply) == 'table' then
      return isUnknown(reply) and reply
    end
  end
  if not now then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  local inGrace, wanted = grace > 0 and lease > 0, now + math.abs(lease)
  -- During a grace, a missing lease was lost with its server. Restored, because no other token has been granted
  -- anything yet. Not if the key has values of another program or of version 1.
  local restored = inGrace and not ends
      and (state or string.find(redis.call('ZRANGE', key, -1, -1)[1] or holder, '^%x+:%d+:r$'))
  if not restored and not (ends and (inGrace or tonumber(ends) > now)) then
    return false
  end
  if restored or lease < 0 or tonumber(ends) < wanted then
    local last = string.format('%.0f', math.max(wanted, tonumber(lastEnd or '') or now + redis.call('PTTL', key)))
    -- First, because Redis allows this write with full memory.
    redis.call('PEXPIREAT', key, last)
    redis.call('ZADD', key, string.format('%.0f', wanted), holder)
    if restored then
      redis.call('PEXPIREAT', key, last)
    end
    if restored and state then
      local token, permits = string.match(holder, '^(.*):(%d+)$')
      local waiter = string.match(redis.call('HGET', state, token) or '', '^%d+(:.*)$')
      if waiter then
        redis.call('ZREM', queue, token .. waiter)
      end
      redis.call('HDEL', state, token)
      if permits ~= '1' then
        redis.call('HSET', state, token, permits)
      end
      local used = redis.call('HGET', state, 'used')
      if used then
        redis.call('HSET', state, 'used', string.format('%.0f', used + permits))
      end
    end
    if state and lastEnd ~= last then
      redis.call('HSET', state, 'until', last)
      redis.call('PEXPIREAT', state, last)
      redis.call('PEXPIREAT', queue, last)
    end
  end
  return true
end

local answer = { count }
for i = 1, count do
  -- The time is kept as text, because the conversion of a number to text takes time.
  local holder, kept, leaseText = ARGV[i], true, ARGV[count + i] or ARGV[count + 1]
  local lease = tonumber(leaseText)
  if ofPermits then
    kept = renewMember(KEYS[3 * i - 2], holder, lease, KEYS[3 * i - 1], KEYS[3 * i])
  elseif string.sub(holder, -2) == ':r' then
    kept = renewMember(KEYS[i], holder, lease)
  else
    local key, value = KEYS[i], owners[i]
    if value == nil then
      value = redis.pcall('GET', key)
    end
    if value == holder then
      if lease < 0 then
        redis.call('PEXPIRE', key, string.sub(leaseText, 2))
      -- For that command, a key without expiry lasts longer.
      elseif (not longer or redis.call('PEXPIRE', key, leaseText, longer) == 0) and redis.call('PTTL', key) < lease then
        redis.call('PEXPIRE', key, leaseText)
      end
    elseif grace > 0 and lease > 0 and not value then
      -- Restored, as in renewMember(). The DEL removes nothing. With full memory, Redis allows a removal as the first
      -- write, and then all further writes.
      redis.call('DEL', key)
      redis.call('SET', key, holder, 'PX', leaseText)
    else
      kept = isUnknown(value) and value
    end
  end
  if kept and kept ~= true then
    return kept
  elseif not kept then
    answer[#answer + 1] = i
  end
end
return answer
