-- Notes that an instance is there, and forgets those that have not said so for long.
--
-- KEYS: the hash of instances. ARGV: the instance's id, how long it is there, how long an instance that says nothing is
-- kept, what is told of it; times in milliseconds.
-- Returns {1}. An entry is: when it was seen, since when it is there, what is told of it, by the server's clock.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local retention = tonumber(ARGV[3])
local started = now - ARGV[2]

local entries = redis.call('HGETALL', KEYS[1])
for i = 1, #entries, 2 do
  local seen, since = string.match(entries[i + 1], '^(%d+)\31(%d+)')
  seen = tonumber(seen) or 0
  if entries[i] == ARGV[1] then
    -- It does not change because this command was under way for longer than the first one.
    started = since or started
  end
  if now - seen > retention then
    redis.call('HDEL', KEYS[1], entries[i])
  end
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f\31%.0f%s', now, started, ARGV[4]))
redis.call('PEXPIRE', KEYS[1], retention)
return { 1 }
