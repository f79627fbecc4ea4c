-- How the exclusive lock is granted, but for the usual cases.

-- The last fence; and how many from that one on are lower than the next, if that is not the stride.
local digits, room = string.match(last or '', '^(%d+) ?(%d*)$')
local fence = tonumber(digits) or 0

-- Fences between two grants in Redis; as many, less one, may be given inside the instance that was granted the first.
local STRIDE = 64

-- All digits, in a text: alone, Redis takes a number in all of its digits.
local function integer(number)
  return string.format('%.0f', number)
end

-- Follows the clock as well as the last fence, so that it also grows if the last one was lost or has expired.
local function nextFence()
  return math.max(fence + (tonumber(room) or STRIDE), now)
end

local function advanceFence()
  fence = nextFence()
  room = nil
  redis.call('SET', fenceKey, integer(fence), 'PX', retention + math.max(0, math.ceil((fence - now) / 1000)))
end

-- What is left of a lease that this script has granted.
local granted

local function grant(token, millis)
  redis.call('SET', lockKey, token, 'PX', millis)
  granted = tonumber(millis)
  advanceFence()
  owner = token
end

