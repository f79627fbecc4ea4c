package io.holdfast.redis.script;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

import io.holdfast.engine.store.LeaseStore.Renewal;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.CommandArgs;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import org.jspecify.annotations.Nullable;

/**
 * The arguments of EVALSHA and EVAL, for Lettuce. ARGV are texts, whole numbers, flags,
 * times for their milliseconds, or bytes.
 */
public final class ScriptArguments extends CommandArgs<byte[], byte[]> {

	/** An empty text. */
	public static final String NOTHING = "";

	private static final byte[] CRLF = { '\r', '\n' };

	private final byte[] script;

	private final byte[][] keys;

	private final Object[] args;

	/**
	 * Create the arguments.
	 * @param script the script's text, or its digest
	 * @param keys its KEYS
	 * @param args its ARGV
	 */
	public ScriptArguments(byte[] script, byte[][] keys, Object[] args) {
		super(ByteArrayCodec.INSTANCE);
		this.script = script;
		this.keys = keys;
		this.args = args;
	}

	@Override
	public int count() {
		return 2 + this.keys.length + this.args.length;
	}

	@Override
	public void encode(ByteBuf buffer) {
		write(this.script, this.keys, this.args, buffer);
	}

	/**
	 * Write a command. The driver would need an object for each argument, and one for all
	 * of them.
	 * @param command the name of the command
	 * @param script the script's text, or its digest
	 * @param keys its KEYS
	 * @param args its ARGV
	 */
	public static void writeCommand(String command, byte[] script, byte[][] keys, Object[] args, ByteBuf buffer) {
		buffer.writeByte('*');
		writeDigits(3 + keys.length + args.length, buffer);
		buffer.writeBytes(CRLF);
		write(command, buffer);
		write(script, keys, args, buffer);
	}

	private static void write(byte[] script, byte[][] keys, Object[] args, ByteBuf buffer) {
		write(script, buffer);
		write(keys.length, buffer);
		for (byte[] key : keys) {
			write(key, buffer);
		}
		for (Object arg : args) {
			if (arg instanceof byte[] bytes) {
				write(bytes, buffer);
			}
			else if (arg instanceof Boolean yes) {
				write(yes ? 1 : 0, buffer);
			}
			else if (arg instanceof Number number && number.longValue() >= 0) {
				write(number.longValue(), buffer);
			}
			else {
				write(((arg instanceof Duration time) ? (Object) time.toMillis() : arg).toString(), buffer);
			}
		}
	}

	private static void write(byte[] bytes, ByteBuf buffer) {
		writeLength(bytes.length, buffer);
		buffer.writeBytes(bytes).writeBytes(CRLF);
	}

	private static void write(String text, ByteBuf buffer) {
		int length = ByteBufUtil.utf8Bytes(text);
		writeLength(length, buffer);
		ByteBufUtil.reserveAndWriteUtf8(buffer, text, length);
		buffer.writeBytes(CRLF);
	}

	private static void write(long number, ByteBuf buffer) {
		int digits = 1;
		for (long rest = number / 10; rest > 0; rest /= 10) {
			digits++;
		}
		writeLength(digits, buffer);
		writeDigits(number, buffer);
		buffer.writeBytes(CRLF);
	}

	private static void writeLength(int length, ByteBuf buffer) {
		buffer.writeByte('$');
		writeDigits(length, buffer);
		buffer.writeBytes(CRLF);
	}

	private static void writeDigits(long number, ByteBuf buffer) {
		if (number > 9) {
			writeDigits(number / 10, buffer);
		}
		buffer.writeByte('0' + (int) (number % 10));
	}

	/** Return the first key, by which the driver finds the node of a cluster. */
	@Override
	public @Nullable ByteBuffer getFirstEncodedKey() {
		return (this.keys.length > 0) ? ByteBuffer.wrap(this.keys[0]) : null;
	}

	/**
	 * Return the arguments of a script that renews leases. All mostly are to last equally
	 * long, which is said once then: there are many in a command.
	 * @param permits whether to say how many permits each has
	 */
	public static Object[] ofRenewals(List<Renewal> renewals, boolean permits) {
		int count = renewals.size();
		boolean alike = count > 0
				&& renewals.stream().allMatch((renewal) -> renewal.leaseMillis() == renewals.get(0).leaseMillis());
		List<Renewal> leases = alike ? renewals.subList(0, 1) : renewals;
		Object[] args = new Object[count + leases.size()];
		int i = 0;
		for (Renewal renewal : renewals) {
			args[i++] = permits ? renewal.token() + ":" + renewal.permits()
					: (renewal.permits() == 1) ? renewal.token() + ":r" : renewal.token();
		}
		for (Renewal renewal : leases) {
			args[i++] = renewal.leaseMillis();
		}
		return args;
	}

	/** Return the text for logs: without ARGV, where the tokens are. */
	@Override
	public String toCommandString() {
		return String.join(" ", Arrays.stream(this.keys).map(ScriptReplies::text).toList());
	}

	@Override
	public String toString() {
		return toCommandString();
	}

}
