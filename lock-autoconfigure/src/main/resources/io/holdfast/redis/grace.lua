-- Fail-over grace; put before the scripts that grant or renew leases, of instances that have one.
--
-- The last of KEYS: where the server is remembered.
-- Sets grace, how much is left of that time in milliseconds, and serverSince, the microsecond of its beginning.

do
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
  grace = math.max(0, math.ceil((serverSince - micros) / 1000) + longestLease)
end

