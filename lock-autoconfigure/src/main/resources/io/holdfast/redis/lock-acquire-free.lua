-- The usual case of lock-acquire.lua, before functions are made that it does not need: the lock has neither owner nor waiter.

if not owner and waiting == 0 and grace == 0 then
  local fences = string.find(ARGV[1], ':0', 1, true) and toldFences or nil
  grant(ARGV[1], ARGV[2], fences)
  return { 1, integer(fence), tonumber(ARGV[2]), fences }
end

