-- Registers an instance or refreshes its registration, and removes expired registrations. A new instance is refused if
-- its protocol is incompatible with the protocol of a registered instance. Therefore, all registered instances are
-- compatible.
--
-- KEYS: the hash of instances. ARGV: the id of the instance; its age; the time without a refresh after which a
-- registration expires; the rest of its entry. Times are in milliseconds.
-- Returns {1}, or {0, id, entry} of an incompatible instance. An entry has the time of the last refresh and the time of
-- the start, by the server's clock, and the rest of ARGV.

-- A variable, as in the other scripts: a server that refuses keys in variables refuses this script, before any request
-- for a lease.
local key = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local retention = tonumber(ARGV[3])
local started = now - ARGV[2]

-- Returns the digest of an instance's prefixes, the version of its protocol, and the oldest compatible version. The
-- first instances wrote no versions.
local function protocol(description)
  local shared, version, oldest = string.match(description, '^\31(%x+)\31[^\31]*\31[^\31]*\31%d+\31?(%d*)\31?(%d*)')
  return shared, tonumber(version) or 0, tonumber(oldest) or 0
end

local shared, version, oldest = protocol(ARGV[4])
local present = false
local incompatible
local entries = redis.call('HGETALL', key)
for i = 1, #entries, 2 do
  local seen, since, description = string.match(entries[i + 1], '^(%d+)\31(%d+)(.*)$')
  local expired = now - (tonumber(seen) or 0) > retention
  if expired then
    redis.call('HDEL', key, entries[i])
  end
  if entries[i] == ARGV[1] then
    -- The start stays, although this command may have been under way for longer than the first command.
    started = since or started
    present = not expired
  elseif not expired then
    local otherShared, otherVersion, otherOldest = protocol(description)
    if otherShared == shared and (otherVersion < oldest or version < otherOldest) then
      incompatible = i
    end
  end
end
if incompatible and not present then
  return { 0, entries[incompatible], entries[incompatible + 1] }
end
-- Removes nothing. With full memory, Redis allows a removal as the first write, and then all further writes.
redis.call('HDEL', key, '')
redis.call('HSET', key, ARGV[1], string.format('%.0f\31%.0f%s', now, started, ARGV[4]))
redis.call('PEXPIRE', key, retention)
return { 1 }
