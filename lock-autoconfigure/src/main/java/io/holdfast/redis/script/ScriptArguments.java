package io.holdfast.redis.script;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.function.BooleanSupplier;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * The arguments of EVALSHA and EVAL, for Lettuce: written straight from the bytes that
 * are there, while the driver would make an object of each key and argument.
 */
public final class ScriptArguments extends CommandArgs<byte[], byte[]> {

	/** EVALSHA refuses it, and EVAL does nothing. */
	private static final byte[] NO_SCRIPT = {};

	private final byte[] script;

	private final byte[][] keys;

	private final byte[][] args;

	/** Asked when they are written: whether the script is still to run. */
	private final BooleanSupplier writing;

	/**
	 * Create the arguments.
	 * @param script the script's text, or its digest
	 * @param keys its KEYS
	 * @param args its ARGV
	 */
	ScriptArguments(byte[] script, byte[][] keys, byte[][] args) {
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
	public ScriptArguments(byte[] script, byte[][] keys, byte[][] args, BooleanSupplier writing) {
		super(ByteArrayCodec.INSTANCE);
		this.script = script;
		this.keys = keys;
		this.args = args;
		this.writing = writing;
	}

	@Override
	public int count() {
		return 2 + this.keys.length + this.args.length;
	}

	/** By this a cluster's node is chosen. */
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

	/**
	 * Write all of EVALSHA.
	 * @param buffer where to
	 * @param digest the script's
	 * @param keys its KEYS
	 * @param args its ARGV
	 */
	static void writeCommand(ByteBuf buffer, byte[] digest, byte[][] keys, byte[][] args) {
		buffer.writeByte('*');
		writeDigits(buffer, 3 + keys.length + args.length);
		endLine(buffer);
		write(buffer, CommandType.EVALSHA.getBytes());
		writeArguments(buffer, digest, keys, args);
	}

	private static void writeArguments(ByteBuf buffer, byte[] script, byte[][] keys, byte[][] args) {
		write(buffer, script);
		write(buffer, ScriptArgv.number(keys.length));
		for (byte[] key : keys) {
			write(buffer, key);
		}
		for (byte[] arg : args) {
			write(buffer, arg);
		}
	}

	private static void write(ByteBuf buffer, byte[] word) {
		buffer.writeByte('$');
		writeDigits(buffer, word.length);
		endLine(buffer);
		buffer.writeBytes(word);
		endLine(buffer);
	}

	private static void writeDigits(ByteBuf buffer, int number) {
		if (number >= 10) {
			writeDigits(buffer, number / 10);
		}
		buffer.writeByte('0' + number % 10);
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
