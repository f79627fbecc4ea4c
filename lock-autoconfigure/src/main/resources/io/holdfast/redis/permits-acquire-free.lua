-- The usual case of permits-acquire.lua, before functions are made that it does not need: nothing waits, no lease is over,
-- and the permits are free.
--
-- Returns a number: the fence.

first = holders > 0 and redis.call('ZRANGE', holdersKey, 0, 0, 'WITHSCORES') or nil
if waiting == 0 and grace == 0 and not owner and not rival[1] and not said and ARGV[7] == ''
    and (used and lastEnd or holders == 0) and not (first and tonumber(first[2]) <= now) and fence < 1e16
    and (ARGV[4] == '1' or holders == 0 or not redis.call('ZSCORE', holdersKey, ARGV[3] .. ':1')) then
  local permits, ends = ARGV[4], string.format('%.0f', now + ARGV[8])
  local taken = (holders > 0 and used or 0) + permits
  -- Nothing is said of a token that holds one permit: it has that already then. It fails where memory is full, or writes are
  -- refused: see lock-acquire-free.lua.
  if taken <= (fixedLimit or tonumber(ARGV[5])) and redis.pcall('ZADD', holdersKey, 'NX', ends, ARGV[3] .. ':' .. permits) == 1 then
    fence = math.max(fence + (isLock and 64 or 1), micros)
    local lasting = lastEnd and lastEnd > tonumber(ends) and state[2] or ends
    redis.call('HSET', stateKey, 'used', taken, 'until', lasting, 'asked', ARGV[5], isLock and 'used' or 'fence', isLock and taken or fence)
    if permits ~= '1' then
      redis.call('HSET', stateKey, ARGV[3], permits)
    end
    if isLock then
      redis.call('SET', KEYS[4], fence, 'PX', retention + math.max(0, math.ceil((fence - micros) / 1000)))
    end
    if holders == 0 or lasting ~= state[2] then
      redis.call('PEXPIREAT', stateKey, lasting)
      redis.call('PEXPIREAT', holdersKey, lasting)
    end
    return fence
  end
end

