-- Releases a lock by force, in the names of the tokens that hold it, and tells their instances.
--
-- KEYS: as those of lock-acquire.lua. ARGV: the tokens.
-- Returns for each whether it held the lock (0 or 1).

local lockKey, queueKey, fenceKey, seenKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local waiting = redis.call('ZCARD', queueKey)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local last = redis.call('GET', fenceKey)
local owner = redis.pcall('GET', lockKey)

-- lib
-- lib-lock

local ended, ofInstance = {}, {}
for i, token in ipairs(ARGV) do
  -- Ending is the first write: Redis allows it when its memory is full, and then the rest as well.
  local held = endHold(token)
  local instance = instanceOf(token)
  ended[i] = held and 1 or 0
  if held and instance then
    ofInstance[instance] = ofInstance[instance] or {}
    table.insert(ofInstance[instance], token)
  end
end
-- Before others hear of their grants.
for instance, tokens in pairs(ofInstance) do
  tellEnded(instance, integer(nextFence()), tokens)
end
settle()
save()
return ended
