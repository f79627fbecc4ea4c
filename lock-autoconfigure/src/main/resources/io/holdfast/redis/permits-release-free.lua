-- The usual case of permits-release.lua, before anything is done that it does not need: nothing waits, the token's lease is not
-- over, and no token is to follow. Leases of others that are over are left to the next who asks.

if waiting == 0 and grace == 0 and not owner and not rival[1] and not ARGV[5] and used and lastEnd
    and (isLock or fence <= micros) and (not said or string.find(said, '^%d+$')) then
  local entry = ARGV[3] .. ':' .. (said or '1')
  local ends = redis.call('ZSCORE', holdersKey, entry)
  if ends and tonumber(ends) > now then
    redis.call('ZREM', holdersKey, entry)
    if holders == 1 then
      redis.call('DEL', stateKey)
    else
      redis.call('HSET', stateKey, 'used', used - (said or 1))
      if said then
        redis.call('HDEL', stateKey, ARGV[3])
      end
    end
    return 1
  end
end

