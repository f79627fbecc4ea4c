-- Exclusive owner and readers of a lock, in place of the line "lib-owner" of a script.
--
-- Needs lockKey, and owner: the reply to GET of the lock key, possibly an error.
-- Sets owner (false without an exclusive owner), and readUntil: the end of the last lease of readers in milliseconds,
-- possibly in the past; 0 without readers. Ends the script with an error if the key has another type.

local readUntil = 0

-- The value is not a string. A set of readers has the entries token:r, with the ends of their leases. Readers or a
-- writer of version 1 count as a foreign owner without a name until the key expires. All other values are errors.
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
