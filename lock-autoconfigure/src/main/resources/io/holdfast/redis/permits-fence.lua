-- What stands at the fourth key: an operator's limit, or the fence of a read-write lock. Read by all scripts that change a semaphore
-- or a read-write lock, but for their usual cases that need neither.

local own = redis.call('GET', KEYS[4])
if isLock then
  -- It may say that more than a stride are lower than the next.
  local last, room = string.match(own or '', '^(%d+) ?(%d*)$')
  fence = (tonumber(last) or 0) + (tonumber(room) or 64) - 64
end
-- Not what stands there that is no limit.
local fixedLimit = not isLock and own and string.find(own, '^%d+$') and tonumber(own)
if fixedLimit and fixedLimit > 1000000000 then
  fixedLimit = nil
end

