-- The usual case of lock-acquire.lua, before anything is done that it does not need: the lock has neither owner nor waiter,
-- and the last fence is one that these scripts have written.
--
-- Returns a number: the fence.

local last = redis.call('GET', fenceKey)
if grace == 0 and not queue[1] then
  -- What the next fence must not be lower than; see lock-grant.lua.
  local least = not last and 0 or #last == 16 and (tonumber(last) or 1e16) + 64 or 1e16
  if least < 1e16 then
    local fence, life = now, retention
    if least > now then
      fence, life = least, retention + math.ceil((least - now) / 1000)
    end
    -- It fails where memory is full, or writes are refused: what need not write is found out by the general part.
    local set = redis.pcall('SET', lockKey, ARGV[1], 'NX', 'PX', ARGV[2])
    if set and set.ok then
      redis.call('SET', fenceKey, fence, 'PX', life)
      return fence
    end
  end
end

local owner = redis.pcall('GET', lockKey)

