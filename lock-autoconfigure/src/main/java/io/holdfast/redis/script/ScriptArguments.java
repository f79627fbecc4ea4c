package io.holdfast.redis.script;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;

import io.holdfast.engine.store.LeaseStore.Renewal;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import org.jspecify.annotations.Nullable;

/**
 * The arguments of EVALSHA and EVAL, for Lettuce: written straight to the connection,
 * while the driver would make an object of each key and argument. ARGV are texts,
 * numbers, flags, times for their milliseconds, or bytes.
 */
public final class ScriptArguments extends CommandArgs<byte[], byte[]> {

	/** An empty text. */
	public static final String NOTHING = "";

	/** EVALSHA refuses it, and EVAL does nothing. */
	private static final byte[] NO_SCRIPT = {};

	private final byte[] script;

	private final byte[][] keys;

	private final Object[] args;

	/** Asked when they are written: whether the script is still to run. */
	private final BooleanSupplier writing;

	/** Create the arguments of a script that is to run. */
	ScriptArguments(byte[] script, byte[][] keys, Object[] args) {
		this(script, keys, args, () -> true);
	}

	/**
	 * Create the arguments.
	 * @param script the script's text, or its digest
	 * @param keys its KEYS
	 * @param args its ARGV
	 * @param writing asked whenever they are written to a connection: whether the script
	 * is still to run
	 */
	public ScriptArguments(byte[] script, byte[][] keys, Object[] args, BooleanSupplier writing) {
		super(ByteArrayCodec.INSTANCE);
		this.script = script;
		this.keys = keys;
		this.args = args;
		this.writing = writing;
	}

	/**
	 * Return what a script takes that renews leases. All mostly are to last equally long,
	 * which is said once then: there are many in a command.
	 * @param permits whether to say how many permits each has
	 */
	public static Object[] ofRenewals(List<Renewal> renewals, boolean permits) {
		int count = renewals.size();
		boolean alike = count > 0
				&& renewals.stream().allMatch((renewal) -> renewal.leaseMillis() == renewals.get(0).leaseMillis());
		List<Renewal> leases = alike ? renewals.subList(0, 1) : renewals;
		Object[] args = new Object[(permits ? 2 : 1) * count + leases.size()];
		int i = 0;
		for (Renewal renewal : renewals) {
			args[i++] = renewal.token();
		}
		if (permits) {
			for (Renewal renewal : renewals) {
				args[i++] = renewal.permits();
			}
		}
		for (Renewal renewal : leases) {
			args[i++] = renewal.leaseMillis();
		}
		return args;
	}

	@Override
	public int count() {
		return 2 + this.keys.length + this.args.length;
	}

	/** Return the key by which a cluster's node is chosen. */
	@Override
	public @Nullable ByteBuffer getFirstEncodedKey() {
		return (this.keys.length > 0) ? ByteBuffer.wrap(this.keys[0]) : null;
	}

	@Override
	public void encode(ByteBuf buffer) {
		// Lettuce does not write what was given up, except to a node of a cluster. It has
		// written their count by now.
		byte[] written = this.writing.getAsBoolean() ? this.script : NO_SCRIPT;
		writeArguments(buffer, written, this.keys, this.args);
	}

	/** Write all of EVALSHA. */
	static void writeCommand(ByteBuf buffer, byte[] digest, byte[][] keys, Object[] args) {
		buffer.writeByte('*');
		writeDigits(buffer, 3 + keys.length + args.length);
		endLine(buffer);
		write(buffer, CommandType.EVALSHA.getBytes());
		writeArguments(buffer, digest, keys, args);
	}

	private static void writeArguments(ByteBuf buffer, byte[] script, byte[][] keys, Object[] args) {
		write(buffer, script);
		write(buffer, keys.length);
		for (byte[] key : keys) {
			write(buffer, key);
		}
		for (Object arg : args) {
			write(buffer, arg);
		}
	}

	private static void write(ByteBuf buffer, Object word) {
		if (word instanceof byte[] bytes) {
			write(buffer, bytes);
		}
		else if (word instanceof Number number) {
			write(buffer, number.longValue());
		}
		else if (word instanceof Boolean yes) {
			write(buffer, yes ? 1 : 0);
		}
		else if (word instanceof Duration time) {
			write(buffer, time.toMillis());
		}
		else {
			String text = word.toString();
			begin(buffer, ByteBufUtil.utf8Bytes(text));
			ByteBufUtil.writeUtf8(buffer, text);
			endLine(buffer);
		}
	}

	private static void write(ByteBuf buffer, byte[] word) {
		begin(buffer, word.length);
		buffer.writeBytes(word);
		endLine(buffer);
	}

	private static void write(ByteBuf buffer, long number) {
		int length = (number < 0) ? 2 : 1;
		for (long rest = number / 10; rest != 0; rest /= 10) {
			length++;
		}
		begin(buffer, length);
		writeDigits(buffer, number);
		endLine(buffer);
	}

	private static void begin(ByteBuf buffer, int length) {
		buffer.writeByte('$');
		writeDigits(buffer, length);
		endLine(buffer);
	}

	private static void writeDigits(ByteBuf buffer, long number) {
		if (number < 0) {
			buffer.writeByte('-');
		}
		if (number / 10 != 0) {
			writeDigits(buffer, Math.abs(number / 10));
		}
		buffer.writeByte('0' + (int) Math.abs(number % 10));
	}

	private static void endLine(ByteBuf buffer) {
		buffer.writeByte('\r').writeByte('\n');
	}

	/** Return the text for logs and traces: without ARGV, where the tokens are. */
	@Override
	public String toCommandString() {
		return String.join(" ", Arrays.stream(this.keys).map(ScriptReplies::text).toList());
	}

	@Override
	public String toString() {
		return toCommandString();
	}

}
