package io.holdfast.redis.script;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.CommandOutput;
import org.jspecify.annotations.Nullable;

/**
 * The reply of a script as Lettuce reads it: an array of numbers and texts with no
 * further array in it, or a number alone, which is read as an array of one.
 */
public final class ScriptReply extends CommandOutput<byte[], byte[], List<@Nullable Object>> {

	private boolean array;

	/** Create an empty reply. */
	public ScriptReply() {
		super(ByteArrayCodec.INSTANCE, List.of());
	}

	/**
	 * Forget what was read, as the command is written: perhaps again, to another
	 * connection.
	 */
	public void clear() {
		this.output = List.of();
		this.array = false;
	}

	@Override
	public void multi(int count) {
		this.output = new ArrayList<>(Math.max(count, 0));
		this.array = true;
	}

	@Override
	public void set(long number) {
		if (this.array) {
			this.output.add(number);
		}
		else {
			this.output = List.of(number);
		}
	}

	@Override
	public void set(@Nullable ByteBuffer text) {
		this.output.add((text != null) ? this.codec.decodeValue(text) : null);
	}

	/** Take an error without its arguments: the driver's exception goes to logs. */
	@Override
	public void setError(ByteBuffer error) {
		super.setError(error);
		if (hasError()) {
			super.setError(RedisFailures.withoutArguments(getError()));
		}
	}

}
