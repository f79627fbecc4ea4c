-- The usual case of lock-release.lua, before anything is done that it does not need: the token has the lock, without a waiter, and no token is to follow.

if owner == ARGV[1] and waiting == 0 and not ARGV[5] then
  redis.call('DEL', lockKey)
  return { 1, -1 }
end

