-- How the exclusive lock is granted, but for the usual cases.

-- The last fence. A second number may follow, of a version before 28 November 2026.
local fence = tonumber(string.match(last or '', '^(%d+) ?%d*$')) or 0

-- Fences between two grants in Redis; as many, less one, may be given inside the instance that was granted the first.
local STRIDE = 64

-- All digits, in a text: alone, Redis takes a number in all of its digits.
local function integer(number)
  return string.format('%.0f', number)
end

-- Follows the clock as well as the last fence, so that it also grows if the last one was lost or has expired.
local function nextFence()
  return math.max(fence + STRIDE, now)
end

local function advanceFence()
  fence = nextFence()
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

