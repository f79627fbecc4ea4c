-- What every script that changes a semaphore or a read-write lock looks at first; put before each of them.
--
-- KEYS: holders, queue, state; a semaphore's limit or a read-write lock's fence; of a read-write lock also the queue of those
-- that wait for its key exclusively. Only the server's time decides anything.
-- ARGV: S for a semaphore or R for a read-write lock, the key as its user named it; then what each script says. Times in
-- milliseconds.
-- These reads come before every write: a key of a wrong type ends the script before it has changed anything.

local holdersKey, queueKey, stateKey = KEYS[1], KEYS[2], KEYS[3]
local isLock, userKey = ARGV[1] == 'R', ARGV[2]

-- The holders of a read-write lock are at the lock key. An exclusive lock's owner there, a string, is left alone, unless it
-- only keeps the key for the first of this queue.
local owner, reserved
local excluded = false
local holders = redis.pcall('ZCARD', holdersKey)
if type(holders) == 'table' then
  if not isLock or not string.find(holders.err, 'WRONGTYPE', 1, true) then
    return holders
  end
  owner = redis.call('GET', holdersKey)
  -- Of what another client wrote none begins with an id of an instance, which has 32 digits.
  reserved = string.find(owner, '^%x+:%d+:r$') and string.find(owner, ':', 1, true) == 33
  excluded, holders = not reserved, 0
elseif isLock and holders > 0 and not string.find(redis.call('ZRANGE', holdersKey, -1, -1)[1], '^%x+:%d+:%d+$') then
  -- The user may have named a key where another program keeps a sorted set.
  return { err = 'WRONGTYPE The sorted set at the lock key is not one of holders' }
end

-- The holder whose lease ends first, and when; nil if that has to be looked up.
local first

local waiting = redis.call('ZCARD', queueKey)
-- The first of the queue for the key exclusively, and when it came.
local rival = isLock and redis.call('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES') or {}
local state = redis.call('HMGET', stateKey, 'used', 'until', 'asked', 'fence', ARGV[3], ARGV[5] or '')
local used, lastEnd, asked = tonumber(state[1]), tonumber(state[2]), state[3]
-- Of the token, if the script is about one, and of the one that is to follow. Here and below, what is said of a token is text, or false.
local said, nextSaid = state[5], state[6]
local fence = tonumber(state[4]) or 0
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)

