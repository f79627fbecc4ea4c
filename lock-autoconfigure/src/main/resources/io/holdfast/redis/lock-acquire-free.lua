-- The usual case of lock-acquire.lua, before functions are made that it does not need: nobody has the lock, nobody waits.

if not owner and waiting == 0 and grace == 0 then
  grant(ARGV[1], ARGV[2])
  return { 1, integer(fence), tonumber(ARGV[2]) }
end

