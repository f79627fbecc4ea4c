-- Looks at a lock without changing anything.
--
-- KEYS: the lock, its queue, its fence; to name those who hold it and wait for it, also the queue of readers and writers.
-- ARGV: how many to name of each at most; none, if it is left out.
-- Returns {owner or nil, its ttl in milliseconds (-1: no end, 0: no owner), last fence, length of the queue, 1 if readers
-- or a writer of a read-write lock have the key, which are not the owner, else 0}; with names, further: {number of readers
-- or writers that have it, length of their queue, how many of them are named, the entry of each and the milliseconds until
-- its lease ends, how many of the queue are named, the entry of each, the entry of each in the other queue}.

-- What another program put beside the key, for operators, does not hide its owner.
local function read(nothing, ...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    return ARGV[1] and string.find(reply.err, 'WRONGTYPE', 1, true) and nothing or redis.call(...)
  end
  return reply
end

local owner, ttl, shared = redis.pcall('GET', KEYS[1]), 0, 0
if type(owner) == 'table' then
  local last = string.find(owner.err, 'WRONGTYPE', 1, true) and redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
  if not last or not string.find(last[1], '^%x+:%d+:%d+$') then
    return owner
  end
  local time = redis.call('TIME')
  ttl = math.max(0, last[2] - time[1] * 1000 - math.floor(time[2] / 1000))
  shared = ttl > 0 and 1 or 0
  owner = ttl > 0 and ''
elseif owner and string.find(owner, '^%x+:%d+:r$') and string.find(owner, ':', 1, true) == 33 then
  -- Kept for one that waits to read or to write, and is about to take it.
  owner = false
elseif owner then
  ttl = redis.call('PTTL', KEYS[1])
end
local fence = tonumber(string.match(read('0', 'GET', KEYS[3]) or '', '^(%d+) ?%d*$')) or 0
if not (fence >= 0 and fence < 9e18) then
  -- Another program wrote there what is no fence.
  fence = 0
end
-- Without what stands for the first of the other queue.
local queue = {}
for _, entry in ipairs(read({}, 'ZRANGE', KEYS[2], 0, -1)) do
  if not string.find(entry, 'r$') then
    table.insert(queue, entry)
  end
end
local result = { owner, ttl, string.format('%.0f', fence), #queue, shared }
if not ARGV[1] then
  return result
end

local function append(entries)
  for _, entry in ipairs(entries) do
    table.insert(result, entry)
  end
end

local holders = {}
result[6] = 0
if shared == 1 then
  local time = redis.call('TIME')
  local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
  result[6] = redis.call('ZCOUNT', KEYS[1], '(' .. now, '+inf')
  holders = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[1])
  for i = 2, #holders, 2 do
    holders[i] = holders[i] - now
  end
end
result[7] = read(0, 'ZCARD', KEYS[4])
result[8] = #holders / 2
append(holders)
table.insert(result, math.min(#queue, tonumber(ARGV[1])))
append({ unpack(queue, 1, ARGV[1]) })
append(read({}, 'ZRANGE', KEYS[4], 0, ARGV[1] - 1))
return result
