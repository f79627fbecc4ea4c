-- Fail-over grace, before the scripts that grant or renew leases, for instances with a grace.
--
-- KEYS: the last key, which keyCount excludes, remembers the server.
-- Sets grace, the rest of the grace in milliseconds, and serverSince, the time of its beginning in microseconds.

do
  keyCount = keyCount - 1
  -- New at each start of a primary, and at each promotion of a replica.
  local server = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
  if not server then
    return { err = 'ERR This server does not tell its master_replid, so holdfast.redis.fail-over-grace cannot be used' }
  end
  local time = redis.call('TIME')
  local micros = time[1] * 1000000 + time[2]
  local known, since = string.match(redis.call('GET', KEYS[#KEYS]) or '', '^(%x+) (%d+)$')
  -- Also if the clock was set back: otherwise, nothing would be granted until that time.
  if known ~= server or tonumber(since) > micros then
    since = micros
    -- With full memory, the write fails. Then nothing is granted, but releases must go on.
    redis.pcall('SET', KEYS[#KEYS], server .. ' ' .. string.format('%.0f', since))
  end
  serverSince = tonumber(since)
  grace = math.max(0, math.ceil((serverSince - micros) / 1000) + longestLease)
end

