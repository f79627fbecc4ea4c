-- The usual case of permits-release.lua with waiters, before functions are made that it does not need: one permit comes back. It is
-- for the first of the queue, nothing is left for the second, and next goes behind all.

if waiting > 0 and holders > 0 and grace == 0 and not isLock and used and lastEnd and not said
    and ARGV[6] == '1' and ARGV[9] == '' then
  first = redis.call('ZRANGE', holdersKey, 0, 1, 'WITHSCORES')
  local heads = redis.call('ZRANGE', queueKey, 0, 1, 'WITHSCORES')
  local tail = waiting > 1 and redis.call('ZRANGE', queueKey, -1, -1, 'WITHSCORES') or heads
  local token, instance, claim, limit, mode = string.match(heads[1], '^((%x+):%d+):1:(%d+):(%d+):([sp])$')
  -- All ask for one permit of as many, and those who wait came so recently that they need not have asked again. No lease is over,
  -- and next, which may have asked by itself, is not known.
  local usual = token and limit == ARGV[7] and limit == asked and used == (fixedLimit or tonumber(limit))
      and (waiting == 1 or string.match(heads[3], '^%x+:%d+:1:%d+:(%d+):[sp]$') == limit)
      and micros >= tonumber(heads[4] or heads[2]) and micros - heads[2] < 2000 * handoffTimeout
      and tonumber(first[2]) > now
      and not nextSaid and not redis.call('ZSCORE', holdersKey, ARGV[5] .. ':1')
  local ours = usual and ARGV[4] == '1' and string.find(ARGV[3], instance .. ':', 1, true) == 1
  local entry = ARGV[3] .. ':1'
  -- The removal is the first write: Redis allows it when its memory is full, and then the rest as well.
  if usual and (ours or not isAbsent(instance, mode)) and redis.call('ZREM', holdersKey, entry) == 1 then
    local ends, fenceText = now + claim, string.format('%.0f', math.max(fence + 1, micros))
    redis.call('ZADD', holdersKey, ends, token .. ':1')
    local nextRest = ':1:' .. ARGV[11] .. ':' .. limit .. ':' .. ARGV[12]
    redis.call('ZADD', queueKey, string.format('%.0f', math.max(micros, tail[2] + 1)), ARGV[5] .. nextRest)
    redis.call('ZREM', queueKey, heads[1])
    redis.call('HDEL', stateKey, token)
    -- All keys live until next counts as gone, see patience() in permits-shared.lua; a quarter longer, so that most who come need not
    -- set it.
    local patience = 2 * math.max(tonumber(ARGV[11]), handoffTimeout)
    local lasting = math.max(lastEnd, ends, lastEnd < now + patience and now + math.ceil(1.25 * patience) or 0)
    redis.call('HSET', stateKey, 'fence', fenceText, ARGV[5], string.format('%.0f', micros) .. nextRest)
    if holders == 1 or lasting > lastEnd then
      redis.call('HSET', stateKey, 'until', lasting)
      redis.call('PEXPIREAT', stateKey, lasting)
      redis.call('PEXPIREAT', queueKey, lasting)
      redis.call('PEXPIREAT', holdersKey, lasting)
    end
    if not ours then
      send(instance, ARGV[1] .. ' ' .. fenceText .. ' ' .. claim .. ' ' .. token .. ' ' .. userKey)
    end
    local firstEnd = math.min(tonumber(first[1] ~= entry and first[2] or first[4] or ends), ends)
    -- What next is told; and what its instance is told of the one that was granted the permit.
    local answer = { 1, 5, 0, firstEnd - now, fenceText, 0, 0 }
    if ours then
      answer[8], answer[9], answer[10] = token, fenceText, claim
    end
    return answer
  end
end

