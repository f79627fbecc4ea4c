-- Releases permits by force, in the names of the tokens that hold them, and tells the instances of these.
--
-- ARGV, further: the tokens.
-- Returns for each whether it held any (0 or 1).

if excluded or not used or not lastEnd then
  -- A first write that Redis allows when its memory is full: see permits-release.lua.
  redis.call('ZREM', queueKey, '')
end
dropEnded()

local ended, ofInstance = {}, {}
for i = 3, #ARGV do
  local token = ARGV[i]
  local saidOfIt = redis.call('HGET', stateKey, token)
  local held = endHold(token, permitsOf(saidOfIt), saidOfIt)
  ended[i - 2] = held and 1 or 0
  if held then
    local instance = string.match(token, '^%x+')
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
