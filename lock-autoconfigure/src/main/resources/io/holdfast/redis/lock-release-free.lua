-- The usual case of lock-release.lua, before anything is done that it does not need: the token has the lock, without a waiter, and no token is to follow.

local owner = redis.pcall('GET', lockKey)
if owner == ARGV[1] and not queue[1] and not ARGV[2] then
  redis.call('DEL', lockKey)
  return 1
end

