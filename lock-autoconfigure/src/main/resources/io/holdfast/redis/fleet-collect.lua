-- Takes the answers to a request for reports, if there are enough.
--
-- KEYS: the list of answers. ARGV: the required number of answers.
-- Returns the answers, or nothing.

if redis.call('LLEN', KEYS[1]) < tonumber(ARGV[1]) then
  return {}
end
local answers = redis.call('LRANGE', KEYS[1], 0, -1)
redis.call('DEL', KEYS[1])
return answers
