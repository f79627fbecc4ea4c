-- Looks for keys of locks or semaphores, in a bounded part of all keys of a server.
--
-- KEYS: in a cluster, a key that its node would have. ARGV: where to begin, a pattern, how many finds are enough, how many
-- keys to look at at most.
-- Returns {where to go on, or 0 at the end, the keys found}.

local wanted, left = tonumber(ARGV[3]), tonumber(ARGV[4])
local result = { ARGV[1] }

-- Keys beside others, which have a hash tag, that say nothing of who holds or waits. A fence outlives its lock for long.
local function saysNothing(key)
  return string.find(key, '^[^{]*{[^}]+}')
      and (string.find(key, ':fence$') or string.find(key, ':state$') or string.find(key, ':seen$'))
end

repeat
  -- A step is not cut off: it may bring a few more than are wanted.
  local count = math.max(10, wanted + 1 - #result)
  local step = redis.call('SCAN', result[1], 'MATCH', ARGV[2], 'COUNT', count)
  result[1] = step[1]
  left = left - count
  for _, key in ipairs(step[2]) do
    if not saysNothing(key) then
      table.insert(result, key)
    end
  end
until result[1] == '0' or #result > wanted or left <= 0
return result
