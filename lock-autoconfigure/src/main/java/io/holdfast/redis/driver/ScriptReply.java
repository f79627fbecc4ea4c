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
 * Reply of a script: an array of numbers and texts, without inner arrays, or a single
 * number, which is read as an array of one element.
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

	/**
	 * Return whether the command was written more than once, and may have run more than
	 * once.
	 */
	public boolean isRepeated() {
		return this.repeated;
	}

	/** Return whether the command may have run after newer commands. */
	public boolean isLate() {
		return this.late;
	}

	/** Return whether the reply is an array, and no single number. */
	public boolean isArray() {
		return this.array;
	}

	/** Return the number of elements. */
	public int size() {
		return this.elements.size();
	}

	/** Return whether an element has no value. */
	public boolean isNull(int at) {
		return this.elements.get(at) == null;
	}

	/** Return an element as a number. The element may be a text of digits. */
	public long number(int at) {
		return (this.elements.get(at) instanceof Number number) ? number.longValue() : Long.parseLong(text(at));
	}

	/** Return an element as a count. */
	public int count(int at) {
		return (int) number(at);
	}

	/** Return an element as a flag. */
	public boolean flag(int at) {
		return number(at) == 1;
	}

	/** Return an element as a text. */
	public String text(int at) {
		if (this.elements.get(at) instanceof byte[] bytes) {
			return new String(bytes, StandardCharsets.UTF_8);
		}
		throw new IllegalStateException("The reply of a script has no text where one was expected");
	}

	/** Return the elements from an index on, as texts. */
	public List<String> texts(int from) {
		return IntStream.range(from, size()).mapToObj(this::text).toList();
	}

	/**
	 * Discard the elements before the command is written again, possibly to another
	 * connection.
	 */
	void repeat() {
		this.repeated = true;
		clear();
	}

	/** Discard the error of a Redis that did not know the script. */
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

	/** Set an error, without quoted arguments: the driver's exception may be logged. */
	@Override
	public void setError(ByteBuffer error) {
		super.setError(error);
		if (hasError()) {
			super.setError(RedisFailures.withoutArguments(getError()));
		}
	}

}
