-- The functions by which an instance is told something, put where a script says "lib". They need nothing but the
-- constants before each script, and change nothing.

-- Sends a message to an instance. In a cluster that shards channels by SPUBLISH, which the other masters do not hear
-- of; if the instance does not listen there, or that is refused, by PUBLISH.
local function send(instance, message)
  local receivers = shard and redis.pcall('SPUBLISH', channelPrefix .. instance .. shard, message)
  if type(receivers) ~= 'number' or receivers == 0 then
    -- A user without the right to publish must still be able to release.
    redis.pcall('PUBLISH', channelPrefix .. instance, message)
  end
end

-- Whether the subscription of a waiter's instance is certainly not at this server. To be asked before a message is
-- sent: replicas hear messages, too, and a grant that is taken back must reach no subscriber there.
local function isAbsent(instance, mode)
  if mode == 'p' or cluster then
    return false
  end
  -- Without patterns, by which a tool may listen to everything. An error counts as present.
  local subscribers = redis.pcall('PUBSUB', 'NUMSUB', channelPrefix .. instance)
  return subscribers[2] == 0
end
