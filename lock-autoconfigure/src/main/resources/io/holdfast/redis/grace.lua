-- Fail-over grace; put before the scripts that grant or renew leases.
--
-- The last of ARGV: the settings, which are the same in each command of an instance, with a space between: the longest
-- lease that may be asked for, which is how long a server grants nothing new if it is not the one that granted before, or 0
-- to do without; retention of fences; time that every hand-off is given; life for a lock without end, or 0 to leave it
-- alone; cluster (0 or 1); the length of what lock keys begin with, in bytes; channel prefix. Times in milliseconds.
-- The last of KEYS, if there is to be a grace: where the server is remembered.
-- Sets grace, how much is left of that time in milliseconds, and serverSince, the microsecond of its beginning.

local grace, serverSince = 0, 0
local keyCount = #KEYS
do
  local longest = tonumber(string.match(ARGV[#ARGV], '^%d+'))
  if longest > 0 then
    keyCount = keyCount - 1
    -- Another one with each start of a primary, and with each promotion of a replica to one.
    local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
    if not server then
      return { err = 'ERR This server does not tell its master_replid, so holdfast.redis.fail-over-grace cannot be used' }
    end
    local time = redis.call('TIME')
    local micros = time[1] * 1000000 + time[2]
    local known, since = string.match(redis.call('GET', KEYS[#KEYS]) or '', '^(%x+) (%d+)$')
    -- Or the clock was set back: nothing would be granted before that time came again.
    if known ~= server or tonumber(since) > micros then
      since = micros
      -- Not written when memory is full, where nothing is granted, and releases must go on.
      redis.pcall('SET', KEYS[#KEYS], server .. ' ' .. string.format('%.0f', since))
    end
    serverSince = tonumber(since)
    grace = math.max(0, math.ceil((serverSince - micros) / 1000) + longest)
  end
end

