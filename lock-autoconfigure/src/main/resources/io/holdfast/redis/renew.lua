-- Lengthens the leases of many locks, or of permits of many semaphores, and never shortens one; or has them end at a given
-- time.
--
-- KEYS: the locks; or for each of the permits holders, queue, state. ARGV: for each of them its holder: the token of a
-- lock, with ":r" behind that of a reader, with ":" and their number behind that of permits; for each of them, or once
-- for all, how many milliseconds its lease is to last from now, at least; negative, if it is to last no longer, either.
-- Returns how many there are, and at which places those are that their tokens do not hold.

-- Three keys each are more than two arguments each.
local ofPermits = keyCount > #ARGV
local count = ofPermits and keyCount / 3 or keyCount

-- Since Redis 7, to lengthen and to find out whether that shortens is one command.
local longer = redis.REDIS_VERSION_NUM and 'GT'

-- All owners by one command; not if what is of another type must be told from what is gone. Where it fails, as between
-- slots of a cluster, one by one.
local owners = not ofPermits and grace == 0 and redis.pcall('MGET', unpack(KEYS, 1, keyCount)) or {}

-- Whether nothing is known about who holds a key. What another type replaced is lost, and no reason to lose the others.
local function isUnknown(reply)
  return type(reply) == 'table' and reply.err and not string.find(reply.err, 'WRONGTYPE', 1, true)
end

-- Renews a reader, or permits. Returns whether that is held; an error where it is not known.
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
  -- In a grace, its server is gone, and took it along: no other token has got anything yet. Not where another program, or
  -- version 1, keeps something.
  local again = inGrace and not ends
      and (state or string.find(redis.call('ZRANGE', key, -1, -1)[1] or holder, '^%x+:%d+:r$'))
  if not again and not (ends and (inGrace or tonumber(ends) > now)) then
    return false
  end
  if again or lease < 0 or tonumber(ends) < wanted then
    local last = string.format('%.0f', math.max(wanted, tonumber(lastEnd or '') or now + redis.call('PTTL', key)))
    -- This write comes first, as Redis allows it when its memory is full.
    redis.call('PEXPIREAT', key, last)
    redis.call('ZADD', key, string.format('%.0f', wanted), holder)
    if again then
      redis.call('PEXPIREAT', key, last)
    end
    if again and state then
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
  -- As it was sent: making a text of a number takes time.
  local holder, kept, text = ARGV[i], true, ARGV[count + i] or ARGV[count + 1]
  local lease = tonumber(text)
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
        redis.call('PEXPIRE', key, string.sub(text, 2))
      -- To that, a key without an end is one that lasts longer.
      elseif (not longer or redis.call('PEXPIRE', key, text, longer) == 0) and redis.call('PTTL', key) < lease then
        redis.call('PEXPIRE', key, text)
      end
    elseif grace > 0 and lease > 0 and not value then
      -- The same as in renewMember(). Removing nothing is a write that Redis allows when its memory is full, and then the
      -- next as well.
      redis.call('DEL', key)
      redis.call('SET', key, holder, 'PX', text)
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
