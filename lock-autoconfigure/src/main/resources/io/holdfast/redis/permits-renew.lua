-- Lengthens the leases of many tokens, and never shortens one; or has them end at a given time.
--
-- KEYS: for each of them holders, queue, state. ARGV: for each of them the token, its permits as far as it knows, and how
-- many milliseconds its lease is to last from now, at least; negative, if it is to last no longer, either. See grace.lua
-- for what comes last.
-- Returns for each of them 1 if the token holds permits, else 0.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local kept = {}
-- Its server is gone, and took it along; nobody else has got anything yet.
local function holdAgain(holders, queue, state, token, permits)
  local last = redis.call('ZRANGE', holders, -1, -1)[1]
  if last and not string.find(last, '^%x+:%d+:%d+$') then
    -- Somebody else's.
    return false
  end
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
  return true
end

for i = 1, keyCount / 3 do
  local holders, queue, state = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
  local token, lease = ARGV[3 * i - 2], tonumber(ARGV[3 * i])
  local ends = now + math.abs(lease)
  local said = redis.pcall('HMGET', state, token, 'until')
  -- What it said of a waiter whose queue was deleted or evicted does not count.
  local permits = said[1] and string.match(said[1], '^%d+$')
  local entry = token .. ':' .. (permits or '1')
  local score = redis.pcall('ZSCORE', holders, entry)
  if not score and not permits then
    -- What the state said of it may be gone.
    entry = token .. ':' .. ARGV[3 * i - 1]
    score = redis.pcall('ZSCORE', holders, entry)
  end
  local wrong = false
  for _, value in ipairs({ said, score or 0, redis.pcall('ZCARD', queue) }) do
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
    entry = token .. ':' .. ARGV[3 * i - 1]
    score = holdAgain(holders, queue, state, token, ARGV[3 * i - 1]) and 0
  end
  kept[i] = not wrong and score and (tonumber(score) > now or grace > 0 and lease > 0) and 1 or 0
  if kept[i] == 1 and (lease < 0 or tonumber(score) < ends) then
    -- This write comes first, as Redis allows it when its memory is full.
    local last = math.max(ends, tonumber(said[2]) or now + redis.call('PTTL', holders))
    local text = string.format('%.0f', last)
    redis.call('PEXPIREAT', holders, text)
    redis.call('ZADD', holders, 'XX', string.format('%.0f', ends), entry)
    if said[2] ~= text then
      redis.call('HSET', state, 'until', text)
      redis.call('PEXPIREAT', state, text)
      redis.call('PEXPIREAT', queue, text)
    end
  end
end
return kept
