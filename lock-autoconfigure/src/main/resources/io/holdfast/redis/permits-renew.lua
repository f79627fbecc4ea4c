-- Lengthens the leases of many tokens, and never shortens one; or has them end at a given time.
--
-- KEYS: for each of them holders, queue, state. ARGV: for each of them the token; for each of them its permits; for
-- each of them, or once for all, how many milliseconds its lease is to last from now, at least; negative, if it is to
-- last no longer, either.
-- Returns how many there are, and at which places those are whose tokens hold no permits.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Its server is gone, and took it along; no other token has got anything yet.
local function holdAgain(holders, queue, state, token, permits)
  local waiter = string.match(redis.call('HGET', state, token) or '', '^%d+(:.*)$')
  if waiter then
    redis.call('ZREM', queue, token .. waiter)
  end
  redis.call('HDEL', state, token)
  redis.call('ZADD', holders, 0, token .. ':' .. permits)
  if permits ~= '1' then
    redis.call('HSET', state, token, permits)
  end
  local used = redis.call('HGET', state, 'used')
  if used then
    redis.call('HSET', state, 'used', string.format('%.0f', used + permits))
  end
end

local count = keyCount / 3
local each = #ARGV > 2 * count + 1
local answer = { count }
for i = 1, count do
  local holders, queue, state = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
  local token, permits, lease = ARGV[i], ARGV[count + i], tonumber(ARGV[2 * count + (each and i or 1)])
  local ends = now + math.abs(lease)
  local entry = token .. ':' .. permits
  local lastEnd = redis.pcall('HGET', state, 'until')
  local score = redis.pcall('ZSCORE', holders, entry)
  local wrong = false
  for _, value in ipairs({ lastEnd, score or 0, redis.pcall('ZCARD', queue) }) do
    if type(value) == 'table' and value.err then
      if not string.find(value.err, 'WRONGTYPE', 1, true) then
        -- Nothing is known about who holds what.
        return value
      end
      -- What another type replaced is lost, and no reason to lose the others.
      wrong = true
    end
  end
  if grace > 0 and lease > 0 and not wrong and not score then
    holdAgain(holders, queue, state, token, permits)
    score = 0
  end
  if wrong or not score or tonumber(score) <= now and (grace == 0 or lease <= 0) then
    answer[#answer + 1] = i
  elseif lease < 0 or tonumber(score) < ends then
    -- This write comes first, as Redis allows it when its memory is full.
    local last = math.max(ends, tonumber(lastEnd) or now + redis.call('PTTL', holders))
    local text = string.format('%.0f', last)
    redis.call('PEXPIREAT', holders, text)
    redis.call('ZADD', holders, 'XX', string.format('%.0f', ends), entry)
    if lastEnd ~= text then
      redis.call('HSET', state, 'until', text)
      redis.call('PEXPIREAT', state, text)
      redis.call('PEXPIREAT', queue, text)
    end
  end
end
return answer
