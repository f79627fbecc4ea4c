-- Notes that an instance is there, and forgets those that have not said so for long. An instance that is not there yet
-- is kept out if its protocol does not fit that of one that is there: so those that are there fit each other.
--
-- KEYS: the hash of instances. ARGV: the instance's id, how long it is there, how long an instance that says nothing is
-- kept, what is told of it; times in milliseconds.
-- Returns {1}, or {0, the id, the entry} of an instance that does not fit. An entry is: when it was seen, since when it is
-- there, what is told of it, by the server's clock.

-- By a name, as in the other scripts: who refuses that refuses it before any lease is asked for.
local key = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local retention = tonumber(ARGV[3])
local started = now - ARGV[2]

-- Tells with whom an instance shares keys, the version of its protocol, and the oldest one that fits it. The first
-- instances told no version.
local function protocol(told)
  local shared, version, oldest = string.match(told, '^\31(%x+)\31[^\31]*\31[^\31]*\31%d+\31?(%d*)\31?(%d*)')
  return shared, tonumber(version) or 0, tonumber(oldest) or 0
end

local shared, version, oldest = protocol(ARGV[4])
local present = false
local misfit
local entries = redis.call('HGETALL', key)
for i = 1, #entries, 2 do
  local seen, since, told = string.match(entries[i + 1], '^(%d+)\31(%d+)(.*)$')
  local gone = now - (tonumber(seen) or 0) > retention
  if gone then
    redis.call('HDEL', key, entries[i])
  end
  if entries[i] == ARGV[1] then
    -- It does not change because this command was under way for longer than the first one.
    started = since or started
    present = not gone
  elseif not gone then
    local otherShared, otherVersion, otherOldest = protocol(told)
    if otherShared == shared and (otherVersion < oldest or version < otherOldest) then
      misfit = i
    end
  end
end
if misfit and not present then
  return { 0, entries[misfit], entries[misfit + 1] }
end
-- Removes nothing, but is a first write that Redis allows when its memory is full, and then the next as well.
redis.call('HDEL', key, '')
redis.call('HSET', key, ARGV[1], string.format('%.0f\31%.0f%s', now, started, ARGV[4]))
redis.call('PEXPIRE', key, retention)
return { 1 }
