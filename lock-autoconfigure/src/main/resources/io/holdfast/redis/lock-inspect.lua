-- Looks at a lock without changing anything.
--
-- KEYS: the lock, its queue, its fence.
-- Returns {owner or nil, its ttl in milliseconds (-1: no end, 0: no owner), last fence, length of the queue, 1 if readers
-- or a writer of a read-write lock have the key, which have no name here, else 0}.

local owner, ttl, shared = redis.pcall('GET', KEYS[1]), 0, 0
if type(owner) == 'table' then
  if not string.find(owner.err, 'WRONGTYPE', 1, true) then
    return owner
  end
  local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
  if not string.find(last[1], '^%x+:%d+:%d+$') then
    return owner
  end
  local time = redis.call('TIME')
  ttl = math.max(0, last[2] - time[1] * 1000 - math.floor(time[2] / 1000))
  shared = ttl > 0 and 1 or 0
  owner = ttl > 0 and ''
elseif owner then
  ttl = redis.call('PTTL', KEYS[1])
end
local fence = tonumber(redis.call('GET', KEYS[3]) or 0) or 0
return { owner, ttl, string.format('%.0f', fence), redis.call('ZCARD', KEYS[2]), shared }
