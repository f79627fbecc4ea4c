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
 *
 * @param <T> the type of the call's result, which is not made here
 */
public final class ScriptReply<T> extends CommandOutput<byte[], byte[], T> {

	private List<@Nullable Object> elements = List.of();

	private boolean array;

	/** Create an empty reply. */
	@SuppressWarnings("NullAway") // Lettuce's outputs begin with null.
	public ScriptReply() {
		super(ByteArrayCodec.INSTANCE, null);
	}

	/** Return the value. */
	public List<@Nullable Object> elements() {
		return this.elements;
	}

	/**
	 * Forget the values, before the command is written again: perhaps to another
	 * connection.
	 */
	public void clear() {
		this.elements = List.of();
		this.array = false;
		super.setError((String) null);
	}

	@Override
	public void multi(int count) {
		this.elements = new ArrayList<>(Math.max(count, 0));
		this.array = true;
	}

	@Override
	public void set(long number) {
		if (this.array) {
			this.elements.add(number);
		}
		else {
			this.elements = List.of(number);
		}
	}

	@Override
	public void set(@Nullable ByteBuffer text) {
		this.elements.add((text != null) ? this.codec.decodeValue(text) : null);
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
