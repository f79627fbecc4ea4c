-- The owner of a lock, put where a script says "lib-owner".
--
-- Needs lockKey; owner, the reply to GET of the lock key, an error included.
-- Sets owner (false without an exclusive owner), and readUntil, when the last lease of readers ends or has ended, 0
-- without readers.

local readUntil = 0

-- A value that is no string: readers, each by its token and ":r" with the end of its lease; or the readers
-- or writer of version 1, which count as a foreign owner without a name until the key expires. All else is an error.
if type(owner) == 'table' then
  local reader = string.find(owner.err, 'WRONGTYPE', 1, true) and redis.call('ZRANGE', lockKey, -1, -1, 'WITHSCORES')
  if reader and string.find(reader[1], '^%x+:%d+:r$') then
    owner, readUntil = false, tonumber(reader[2])
  elseif reader and string.find(reader[1], '^%x+:%d+:%d+$') then
    owner = ''
  else
    return owner
  end
end
