/** Lua scripts: their text, and their failures. */
@NullMarked
package io.holdfast.redis.script;

import org.jspecify.annotations.NullMarked;
