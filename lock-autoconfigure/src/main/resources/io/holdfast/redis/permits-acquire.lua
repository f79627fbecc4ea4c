-- Takes permits for a token if they are free and, if it is fair, there is no waiter before it.
--
-- ARGV, further, and what is returned: see permits-ask.lua.

dropEnded()
return ask(said, unpack(ARGV, 3, 11))
