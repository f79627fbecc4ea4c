-- The usual case of passing the lock on inside an instance: the token has it, and there is no other waiter.

if owner == ARGV[1] and waiting == 0 and ARGV[2] and grace == 0 then
  -- Removes nothing, but is the first write, and one that Redis allows when its memory is full: so it allows the rest too.
  redis.call('ZREM', queueKey, '')
  local fences = string.find(ARGV[2], ':0', 1, true) and toldFences or nil
  grant(ARGV[2], ARGV[3], fences)
  return { 1, 1, fence, tonumber(ARGV[3]), fences }
end

