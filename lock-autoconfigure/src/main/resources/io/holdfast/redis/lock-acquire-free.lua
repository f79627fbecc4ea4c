-- The usual case of lock-acquire.lua, before anything is done that it does not need: the lock has neither owner nor waiter,
-- and the last fence is one that these scripts have written.
--
-- Returns a number: the fence, negative if no more than a stride are lower than the next.

local last = redis.call('GET', fenceKey)
if grace == 0 and not queue[1] then
  -- What the next fence must not be lower than; see lock-grant.lua.
  local least = not last and 0 or #last == 16 and (tonumber(last) or 1e16) + 64
      or string.find(last, '^%d+ 1024$') and tonumber(string.sub(last, 1, -6)) + 1024 or 1e16
  if least < 1e16 then
    local value, life, answer = now, retention, -now
    if least > now then
      value, life, answer = least, retention + math.ceil((least - now) / 1000), -least
    elseif string.find(ARGV[1], ':0', 1, true) then
      value, answer = string.format('%.0f 1024', now), now
    end
    -- It fails where memory is full, or writes are refused: what need not write is found out by the general part.
    local set = redis.pcall('SET', lockKey, ARGV[1], 'NX', 'PX', ARGV[2])
    if set and set.ok then
      redis.call('SET', fenceKey, value, 'PX', life)
      return answer
    end
  end
end

local owner = redis.pcall('GET', lockKey)

