-- Asks all instances but one for a report.
--
-- KEYS: the hash of instances. ARGV: the id of the one that asks, what the entries of the others contain that share its
-- prefixes, channel prefix, the report's name.
-- Returns {the id of an instance, how many received the question, and so on}.

local result = {}
local entries = redis.call('HGETALL', KEYS[1])
for i = 1, #entries, 2 do
  local id = entries[i]
  if id ~= ARGV[1] and #id == 32 and string.find(entries[i + 1], ARGV[2], 1, true) then
    -- An instance that may not publish gets no reports, but learns of which instances.
    local receivers = redis.pcall('PUBLISH', ARGV[3] .. id, 'report ' .. ARGV[4])
    table.insert(result, id)
    table.insert(result, type(receivers) == 'number' and receivers or 0)
  end
end
return result
