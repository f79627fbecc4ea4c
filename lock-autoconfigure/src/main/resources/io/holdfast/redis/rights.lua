-- Finds the commands of other scripts that the user may not run. Each command is tried without a change: with a key
-- that does not exist, or in a form that Redis refuses after the check of rights.
--
-- KEYS: a key that does not exist.
-- ARGV: a channel without subscribers, or '' to leave out PUBLISH; whether there is a fail-over grace (0 or 1); whether
-- to try the commands of the views of the fleet instead (0 or 1).
-- Returns the names of the missing commands.

local key = KEYS[1]
local missing = {}

-- Tries commands with the same arguments.
local function try(commands, ...)
  for command in string.gmatch(commands, '%S+') do
    local reply = redis.pcall(command, ...)
    local problem = type(reply) == 'table' and reply.err
    if problem and (problem:find('NOPERM', 1, true) or problem:find('ACL failure', 1, true)
        or problem:find("The user executing the script can't", 1, true)
        or problem:lower():find('unknown .-command')) then
      missing[#missing + 1] = command
    end
  end
end

if ARGV[3] == '1' then
  try('scan', '0', 'COUNT', 1)
  try('hgetall llen', key)
  -- RPUSH has no form without a change. Older servers cannot check a right without the command.
  if redis.acl_check_cmd then
    local known, allowed = pcall(redis.acl_check_cmd, 'rpush', key, '')
    if not known or not allowed then
      missing[#missing + 1] = 'rpush'
    end
  end
  try('lrange', key, 0, 0)
  return missing
end

try('get mget del pttl zcard', key)
try('zrem zscore hget hmget hdel', key, '')
try('pexpire pexpireat', key, 1)
try('zcount zrange zrangebyscore zremrangebyscore', key, 1, 1)
try('set', key, '', 'XX')
try('zadd', key, 'XX', 1, '')
try('hset', key, 'a', 'b', 'no value')
try('time')
if ARGV[1] ~= '' then
  try('publish', ARGV[1], '')
  try('pubsub', 'numsub', ARGV[1])
end
if ARGV[2] == '1' then
  -- Some services do not allow INFO in scripts, or return less.
  local info = redis.pcall('info', 'replication')
  if type(info) ~= 'string' or not info:find('master_replid:', 1, true) then
    missing[#missing + 1] = 'info'
  end
end
return missing
