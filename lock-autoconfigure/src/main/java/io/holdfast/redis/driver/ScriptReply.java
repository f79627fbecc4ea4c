package io.holdfast.redis.driver;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

import io.holdfast.redis.script.RedisFailures;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.CommandOutput;
import org.jspecify.annotations.Nullable;

/**
 * The reply of a script: an array of numbers and texts with no further array in it, or a
 * number alone, which is read as an array of one.
 */
public final class ScriptReply extends CommandOutput<byte[], byte[], Object> {

	private List<@Nullable Object> elements = List.of();

	private boolean array;

	private volatile boolean repeated;

	private volatile boolean late;

	/** Create an empty reply. */
	@SuppressWarnings("NullAway") // Lettuce's outputs begin with null.
	public ScriptReply() {
		super(ByteArrayCodec.INSTANCE, null);
	}

	/** Return whether the command may have run before the one that is answered. */
	public boolean isRepeated() {
		return this.repeated;
	}

	/** Return whether the command may have run behind newer ones. */
	public boolean isLate() {
		return this.late;
	}

	/** Return whether it is an array, and no number alone. */
	public boolean isArray() {
		return this.array;
	}

	/** Return how many elements there are. */
	public int size() {
		return this.elements.size();
	}

	/** Return whether a place has no value. */
	public boolean isNull(int at) {
		return this.elements.get(at) == null;
	}

	/** Return a number, which may be a text of digits. */
	public long number(int at) {
		return (this.elements.get(at) instanceof Number number) ? number.longValue() : Long.parseLong(text(at));
	}

	/** Return a number of things. */
	public int count(int at) {
		return (int) number(at);
	}

	/** Return a flag. */
	public boolean flag(int at) {
		return number(at) == 1;
	}

	/** Return a text. */
	public String text(int at) {
		if (this.elements.get(at) instanceof byte[] bytes) {
			return new String(bytes, StandardCharsets.UTF_8);
		}
		throw new IllegalStateException("The reply of a script has no text where one was expected");
	}

	/** Return the texts from a place on. */
	public List<String> texts(int from) {
		return IntStream.range(from, size()).mapToObj(this::text).toList();
	}

	/**
	 * Forget the values, before the command is written again: perhaps to another
	 * connection.
	 */
	void repeat() {
		this.repeated = true;
		clear();
	}

	/** Forget the error of a Redis that did not know the script. */
	void unknownScript() {
		this.late = true;
		clear();
	}

	private void clear() {
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
