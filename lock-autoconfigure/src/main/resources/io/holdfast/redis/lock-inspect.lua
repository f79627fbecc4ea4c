-- Looks at a lock without changing anything.
--
-- KEYS: the lock, its queue, its fence.
-- ARGV: how many readers to name at most, how many waiters.
-- Returns {exclusive owner or nil ('' for readers or a writer of version 1), how long the lock is held in milliseconds
-- (-1: no end, 0: it is free), last fence, length of the queue, number of readers, how many of them are named, the
-- entry of each and the milliseconds until its lease ends, the entries of waiters}.

-- What another program put beside the key, for operators, does not hide its owner.
local function read(nothing, ...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    return ARGV[2] ~= '0' and string.find(reply.err, 'WRONGTYPE', 1, true) and nothing or redis.call(...)
  end
  return reply
end

local owner, ttl, readers, named = redis.pcall('GET', KEYS[1]), 0, 0, {}
if type(owner) == 'table' then
  local last = string.find(owner.err, 'WRONGTYPE', 1, true) and redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
  if last and string.find(last[1], '^%x+:%d+:r$') then
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    owner, ttl = false, math.max(0, last[2] - now)
    readers = redis.call('ZCOUNT', KEYS[1], '(' .. now, '+inf')
    named = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[1])
    for i = 2, #named, 2 do
      named[i] = named[i] - now
    end
  elseif last and string.find(last[1], '^%x+:%d+:%d+$') then
    owner = ''
  else
    return owner
  end
end
if owner then
  ttl = redis.call('PTTL', KEYS[1])
end
local fence = tonumber(string.match(read('0', 'GET', KEYS[3]) or '', '^(%d+) ?%d*$')) or 0
if not (fence >= 0 and fence < 9e18) then
  -- Another program wrote there what is no fence.
  fence = 0
end
local result = { owner, ttl, string.format('%.0f', fence), read(0, 'ZCARD', KEYS[2]), readers, #named / 2 }
for _, value in ipairs(named) do
  table.insert(result, value)
end
if ARGV[2] ~= '0' then
  for _, entry in ipairs(read({}, 'ZRANGE', KEYS[2], 0, ARGV[2] - 1)) do
    table.insert(result, entry)
  end
end
return result
