-- Finds out which of the commands that only those need who watch the fleet this user may not run, as rights.lua does.
--
-- KEYS: a key that is not used.
-- Returns the names of the commands that are missing.

local key = KEYS[1]
local missing = {}

local function try(command, ...)
  local reply = redis.pcall(command, ...)
  local problem = type(reply) == 'table' and reply.err
  if problem and (problem:find('NOPERM', 1, true) or problem:find('ACL failure', 1, true)
      or problem:find("The user executing the script can't", 1, true)
      or problem:lower():find('unknown .-command')) then
    missing[#missing + 1] = command
  end
end

try('scan', '0', 'COUNT', 1)
try('hgetall', key)
-- It has no form that changes nothing; older servers cannot be asked.
if redis.acl_check_cmd then
  local known, allowed = pcall(redis.acl_check_cmd, 'rpush', key, '')
  if not known or not allowed then
    missing[#missing + 1] = 'rpush'
  end
end
try('llen', key)
try('lrange', key, 0, 0)
return missing
