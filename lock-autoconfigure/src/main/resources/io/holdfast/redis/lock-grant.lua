-- How the exclusive lock is granted. Few functions, as each takes time whether it is called or not; those for the cases
-- that are less usual are in lock-shared.lua.

-- The last fence; and how many from that one on are lower than the next, if that is not the stride.
local digits, room = string.match(last or '', '^(%d+) ?(%d*)$')
local fence = tonumber(digits) or 0

-- Fences between two grants in Redis; as many, less one, may be given inside the instance that was granted the first.
local STRIDE = 64

-- For an instance that is told when others want the lock, and so may keep it longer, as long as there is no waiter. Not if the
-- next fence is ahead of the clock: it would be more so with each grant, and the fences go back if they were forgotten.
local toldFences = fence + (tonumber(room) or STRIDE) <= now and 1024 or nil

-- All digits, in a text: alone, Redis takes a number in all of its digits.
local function integer(number)
  return string.format('%.0f', number)
end

-- Follows the clock as well as the last fence, so that it also grows if the last one was lost or has expired. Leaves room
-- for so many below the next, if that is given.
local function advanceFence(fences)
  fence = math.max(fence + (tonumber(room) or STRIDE), now)
  room = fences
  local value = fences and integer(fence) .. ' ' .. fences or integer(fence)
  redis.call('SET', fenceKey, value, 'PX', retention + math.max(0, math.ceil((fence - now) / 1000)))
end

-- What is left of a lease that this script has granted.
local granted

local function grant(token, millis, fences)
  redis.call('SET', lockKey, token, 'PX', millis)
  granted = tonumber(millis)
  advanceFence(fences)
  owner = token
end

