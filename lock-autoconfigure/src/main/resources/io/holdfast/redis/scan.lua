-- Searches for keys of locks or semaphores, in a bounded part of all keys of a server.
--
-- KEYS: in a cluster, a key of the node. ARGV: the cursor of SCAN, the pattern, the desired number of finds, the
-- maximum number of keys to scan.
-- Returns {next cursor of SCAN, 0 at the end; the found keys}.

local wanted, remaining = tonumber(ARGV[3]), tonumber(ARGV[4])
local result = { ARGV[1] }

-- Companions, which have a hash tag, and do not show holders or waiters. A fence outlives its lock for long.
local function isNoTrace(key)
  return string.find(key, '^[^{]*{[^}]+}')
      and (string.find(key, ':fence$') or string.find(key, ':state$') or string.find(key, ':seen$'))
end

repeat
  -- All finds of a step are returned, possibly a few more than desired.
  local count = math.max(10, wanted + 1 - #result)
  local step = redis.call('SCAN', result[1], 'MATCH', ARGV[2], 'COUNT', count)
  result[1] = step[1]
  remaining = remaining - count
  for _, key in ipairs(step[2]) do
    if not isNoTrace(key) then
      table.insert(result, key)
    end
  end
until result[1] == '0' or #result > wanted or remaining <= 0
return result
