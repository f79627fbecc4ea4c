-- Looks at a semaphore without changing anything.
--
-- KEYS: as those of permits-acquire.lua. ARGV: how many holders to name at most, how many of the queue.
-- Returns {limit of an operator or nil, last limit asked for, permits used, number of holders, number of waiters, how many
-- holders are named, token and permits of the one whose lease ends first, milliseconds until then, and so on; then the
-- entries of those in the queue}.

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))

local holders = redis.call('ZCOUNT', KEYS[1], '(' .. now, '+inf')

-- What another program put beside the key, for operators, does not hide its holders.
local function read(nothing, ...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    return ARGV[2] ~= '0' and string.find(reply.err, 'WRONGTYPE', 1, true) and nothing or redis.call(...)
  end
  return reply
end

-- Nil for what stands there that is no number of permits.
local function number(text)
  local permits = text and string.find(text, '^%d+$') and tonumber(text)
  return permits and permits <= 1000000000 and permits or nil
end

local function sum(from, to)
  local permits = 0
  for _, entry in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], from, to)) do
    permits = permits + (number(string.match(entry, ':(%d+)$')) or 0)
  end
  return math.min(permits, 2147483647)
end

local used = number(read('', 'HGET', KEYS[3], 'used'))
if holders == 0 then
  used = 0
elseif used then
  used = used - sum('-inf', now)
else
  used = sum('(' .. now, '+inf')
end

local limit = number(read('', 'GET', KEYS[4])) or false
local waiting = read(0, 'ZCARD', KEYS[2])
local asked = number(read('', 'HGET', KEYS[3], 'asked')) or 0
local result = { limit, asked, used, holders, waiting, 0 }
if holders > 0 then
  local first = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[1])
  result[6] = #first / 2
  for i = 1, #first, 2 do
    table.insert(result, first[i])
    table.insert(result, first[i + 1] - now)
  end
end
if ARGV[2] ~= '0' then
  for _, entry in ipairs(read({}, 'ZRANGE', KEYS[2], 0, ARGV[2] - 1)) do
    table.insert(result, entry)
  end
end
return result
