-- Requests a report from all other instances.
--
-- KEYS: the hash of instances. ARGV: the id of the requesting instance; the part of the entries by which instances with
-- the same prefixes are recognized; the prefix of the channels; the name of the report.
-- Returns {id of another instance, number of receivers of the request, and so on}.

local result = {}
local entries = redis.call('HGETALL', KEYS[1])
for i = 1, #entries, 2 do
  local id = entries[i]
  if id ~= ARGV[1] and #id == 32 and string.find(entries[i + 1], ARGV[2], 1, true) then
    -- Without the right to publish, the requesting instance gets no reports, but learns of the other instances.
    local receivers = redis.pcall('PUBLISH', ARGV[3] .. id, 'report ' .. ARGV[4])
    table.insert(result, id)
    table.insert(result, type(receivers) == 'number' and receivers or 0)
  end
end
return result
