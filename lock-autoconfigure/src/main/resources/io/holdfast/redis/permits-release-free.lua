-- The usual case of permits-release.lua, before functions are made that it does not need: nothing waits, no lease is over,
-- and no token is to follow.

if waiting == 0 and grace == 0 and not owner and not rival[1] and not ARGV[5] and used and lastEnd
    and not (first and tonumber(first[2]) <= now) and (isLock or fence <= micros) and (not said or string.find(said, '^%d+$'))
    and redis.call('ZREM', holdersKey, ARGV[3] .. ':' .. (said or '1')) == 1 then
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

