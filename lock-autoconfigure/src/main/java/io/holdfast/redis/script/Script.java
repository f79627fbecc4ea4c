package io.holdfast.redis.script;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;

import org.springframework.data.redis.core.script.DigestUtils;

/**
 * A Lua script. Scripts that are the same for all instances are constants; scripts with
 * an instance's settings in their text are {@link StoreScripts}. Immutable.
 */
public final class Script {

	private static final String FOLDER = "/io/holdfast/redis/";

	/** A line that stands for the functions of another file. */
	private static final Pattern INCLUDED = Pattern.compile("(?m)^-- (lib(?:-\\w+)?)$");

	/** The texts of the files that were read. */
	private static final Map<String, String> FILES = new ConcurrentHashMap<>();

	/** Look at a lock or a semaphore. */
	public static final Script INSPECT = of("inspect.lua");

	/** Confirm that replicas have a grant. */
	public static final Script CONFIRM = of("confirm.lua");

	/** Search for keys. */
	public static final Script SCAN = of("scan.lua");

	/** Add an instance to the fleet. */
	public static final Script FLEET_JOIN = of("fleet-join.lua");

	/** Remove an instance from the fleet. */
	public static final Script FLEET_LEAVE = of("fleet-leave.lua");

	/** List the instances of the fleet. */
	public static final Script FLEET_MEMBERS = of("fleet-members.lua");

	/** Ask the instances of the fleet for a report. */
	public static final Script FLEET_ASK = of("fleet-ask.lua");

	/** Hand in an instance's report. */
	public static final Script FLEET_ANSWER = of("fleet-answer.lua");

	/** Collect the reports. */
	public static final Script FLEET_COLLECT = of("fleet-collect.lua");

	/** Try the commands that other scripts need. */
	public static final Script RIGHTS = of("rights.lua");

	/** Write nothing. */
	public static final Script WRITE = of("write.lua");

	/** Send a message to the instance that runs it. */
	public static final Script PING = of("ping.lua");

	/** Send a message to the instance that runs it, by one master of a cluster. */
	public static final Script PING_SHARD = of("ping-shard.lua");

	private static final byte[] CRLF = { '\r', '\n' };

	private final byte[] text;

	private final byte[] digest;

	private Script(String text) {
		this.text = text.getBytes(StandardCharsets.UTF_8);
		this.digest = DigestUtils.sha1DigestAsHex(text).getBytes(StandardCharsets.US_ASCII);
	}

	private static Script of(String file) {
		return of("", file);
	}

	/** Put a script together, of a beginning and of files in their order. */
	static Script of(String beginning, String... files) {
		StringBuilder text = new StringBuilder(beginning);
		for (String file : files) {
			text.append(INCLUDED.matcher(textOf(file))
				.replaceAll((library) -> Matcher.quoteReplacement(textOf(library.group(1) + ".lua"))));
		}
		return new Script(text.toString());
	}

	/** Return the text, which EVAL takes; not to be changed. */
	public byte[] text() {
		return this.text;
	}

	/** Return the digest, which EVALSHA takes; not to be changed. */
	public byte[] digest() {
		return this.digest;
	}

	/**
	 * Write the command that calls it. The driver would need an object for each argument,
	 * and one for all of them.
	 * @param withText whether Redis is to be sent the text, as it does not know the
	 * script
	 * @param keys its KEYS
	 * @param args its ARGV: texts, whole numbers, and flags
	 */
	public void writeCall(boolean withText, byte[][] keys, Object[] args, ByteBuf buffer) {
		buffer.writeByte('*');
		writeDigits(3 + keys.length + args.length, buffer);
		buffer.writeBytes(CRLF);
		write(withText ? "EVAL" : "EVALSHA", buffer);
		write(withText ? this.text : this.digest, buffer);
		write(keys.length, buffer);
		for (byte[] key : keys) {
			write(key, buffer);
		}
		for (Object arg : args) {
			if (arg instanceof Boolean yes) {
				write(yes ? 1 : 0, buffer);
			}
			else if (arg instanceof Number number && number.longValue() >= 0) {
				write(number.longValue(), buffer);
			}
			else {
				write(arg.toString(), buffer);
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

	private static String textOf(String file) {
		return FILES.computeIfAbsent(file, Script::read);
	}

	private static String read(String file) {
		try (InputStream resource = Script.class.getResourceAsStream(FOLDER + file)) {
			if (resource == null) {
				throw new IllegalStateException("The script " + file + " is missing from the jar of Holdfast");
			}
			return new String(resource.readAllBytes(), StandardCharsets.UTF_8);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
