/**
 * Lua scripts: their text, arguments, replies and failures.
 */
@NullMarked
package io.holdfast.redis.script;

import org.jspecify.annotations.NullMarked;
