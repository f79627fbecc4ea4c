-- Functions for notifications of instances, in place of the line "lib" of a script. The functions use only the
-- constants before each script, and change nothing.

-- Sends a message to an instance. In a cluster with a channel per master, by SPUBLISH, which other masters do not
-- receive. If the instance has no subscription there, or Redis refuses SPUBLISH, by PUBLISH.
local function send(instance, message)
  local receivers = shard and redis.pcall('SPUBLISH', channelPrefix .. instance .. shard, message)
  if type(receivers) ~= 'number' or receivers == 0 then
    -- A user without the right to publish must still be able to release.
    redis.pcall('PUBLISH', channelPrefix .. instance, message)
  end
end

-- Returns whether the instance of a waiter certainly has no subscription at this server. To be called before a message
-- is sent: a message cannot be revoked, because subscribers of replicas receive messages, too.
local function isAbsent(instance, mode)
  if mode == 'p' or cluster then
    return false
  end
  -- Patterns do not count, because a tool may subscribe to everything. An error counts as a subscription.
  local subscribers = redis.pcall('PUBSUB', 'NUMSUB', channelPrefix .. instance)
  return subscribers[2] == 0
end
