-- Releases permits by force, in the names of the tokens that hold them, and tells the instances of these.
--
-- KEYS: as those of permits-acquire.lua. ARGV: the key as its user named it, the tokens.
-- Returns for each whether it held any (0 or 1).

local holdersKey, queueKey, stateKey, limitKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holders = redis.call('ZCARD', holdersKey)
local waiting = redis.call('ZCARD', queueKey)
local state = redis.call('HMGET', stateKey, 'used', 'until', 'asked', 'fence')
local used, lastEnd, asked, fence = tonumber(state[1]), tonumber(state[2]), state[3], tonumber(state[4]) or 0
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
local limitValue = redis.call('GET', limitKey)
local token, said, first

-- lib
-- lib-permits

if not used or not lastEnd then
  -- A first write that Redis allows when its memory is full: see permits-release.lua.
  redis.call('ZREM', queueKey, '')
end
dropEnded()

local ended, ofInstance = {}, {}
for i = 2, #ARGV do
  local holder = ARGV[i]
  local saidOfIt = redis.call('HGET', stateKey, holder)
  local held = endHold(holder, permitsOf(saidOfIt), saidOfIt)
  ended[i - 1] = held and 1 or 0
  if held then
    local instance = string.match(holder, '^%x+')
    ofInstance[instance] = ofInstance[instance] or {}
    table.insert(ofInstance[instance], holder)
  end
end
-- Before others hear of their grants.
for instance, tokens in pairs(ofInstance) do
  tellEnded(instance, integer(nextFence()), tokens)
end
settle()
save()
return ended
