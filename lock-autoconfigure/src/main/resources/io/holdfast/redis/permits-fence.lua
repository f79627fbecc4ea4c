-- What stands at the fourth key: an operator's limit, or the fence of a read-write lock. Read by all scripts that change a semaphore
-- or a read-write lock, but for their usual cases that need neither.

local own = redis.call('GET', KEYS[4])
if isLock then
  -- As in lock-grant.lua.
  fence = tonumber(string.match(own or '', '^(%d+) ?%d*$')) or 0
end
-- Not what stands there that is no limit.
local fixedLimit = not isLock and own and string.find(own, '^%d+$') and tonumber(own)
if fixedLimit and fixedLimit > 1000000000 then
  fixedLimit = nil
end

