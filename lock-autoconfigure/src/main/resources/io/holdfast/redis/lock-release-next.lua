-- The usual cases of passing the lock on, before functions are made that they do not need: the token has it. Without waiters,
-- next follows. Else the first of them does, whose instance is there; and next, if there is one, goes behind all.

-- Writes the time as the next fence and reads the last one by one command; by a second one, what is above the last one, if the
-- time was not.
-- Returns the fence, as text. Returns nothing, and has changed nothing, where memory is full, writes are refused or another type
-- is stored there: the general part finds out what is right then.
local function replaceFence()
  local fence = string.format('%.0f', now)
  local last = redis.pcall('SET', fenceKey, fence, 'PX', retention, 'GET')
  if type(last) == 'table' then
    return
  end
  local digits = string.match(last or '', '^(%d+) ?%d*$')
  local least = digits and digits + 64 or 0
  if least > now then
    fence = string.format('%.0f', least)
    redis.call('SET', fenceKey, fence, 'PX', retention + math.ceil((least - now) / 1000))
  end
  return fence
end

if owner == ARGV[1] and grace == 0 and not queue[1] then
  local fence = replaceFence()
  if fence then
    redis.call('SET', lockKey, ARGV[2], 'PX', ARGV[3])
    return { 1, 1, tonumber(fence), tonumber(ARGV[3]) }
  end
elseif owner == ARGV[1] and grace == 0 then
  local head, instance, claim, mode = string.match(queue[1], '^((%x+):%d+):([1-9]%d*):([sp])$')
  local usual = head and #instance == 32 and #claim < 16
  local score = tonumber(queue[#queue])
  local suffix = ARGV[2] and ':' .. ARGV[4] .. ':' .. ARGV[5]
  if usual and suffix then
    -- The queue's expiry need not be looked at for next, if that was done for its like in the same quarter of the least life.
    local quarter = 500 * ARGV[4]
    usual = tonumber(ARGV[4]) >= handoffTimeout and string.sub(queue[#queue - 1], -#suffix) == suffix
        and math.floor(score / quarter) == math.floor(now / quarter)
  end
  -- Not if one of both is in the queue already: the one leaves its place to next, and the other has no second one.
  for i = 1, #queue, 2 do
    local token = usual and string.match(queue[i], '^%x+:%d+')
    usual = token and token ~= ARGV[1] and token ~= ARGV[2]
  end
  local fence = usual and not isAbsent(instance, mode) and replaceFence()
  if fence then
    if suffix then
      redis.call('ZADD', queueKey, string.format('%.0f', math.max(now, score + 1)), ARGV[2] .. suffix)
    end
    redis.call('ZREM', queueKey, queue[1])
    redis.call('SET', lockKey, head, 'PX', claim)
    send(instance, 'L ' .. fence .. ' ' .. claim .. ' ' .. head .. ' ' .. string.sub(lockKey, prefixLength + 1))
    return suffix and { 1, 0, tonumber(claim), tonumber(fence), 0, 0 } or 1
  end
end

local last = redis.call('GET', fenceKey)

