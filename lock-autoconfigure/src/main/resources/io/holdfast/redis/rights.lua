-- Finds out which commands of the other scripts this user may not run, by running each in a way that changes nothing: on a
-- key that is not there, or in a form that Redis refuses after it has looked at the rights.
--
-- KEYS: a key that is not used.
-- ARGV: a channel without listeners; empty to leave PUBLISH out. Whether there is to be a fail-over grace (0 or 1). Whether
-- the fleet is watched, which needs other commands (0 or 1).
-- Returns the names of the commands that are missing.

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
  -- It has no form that changes nothing; older servers cannot be asked.
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
  -- Some do not let scripts ask, or tell less.
  local info = redis.pcall('info', 'replication')
  if type(info) ~= 'string' or not info:find('master_replid:', 1, true) then
    missing[#missing + 1] = 'info'
  end
end
return missing
