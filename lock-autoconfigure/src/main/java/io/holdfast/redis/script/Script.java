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
 * Lua script. Scripts without settings are constants of this class. Scripts with the
 * settings of an instance are {@link StoreScripts}. Immutable.
 */
public final class Script {

	private static final String FOLDER = "/io/holdfast/redis/";

	/** Line that is replaced by the text of another file. */
	private static final Pattern INCLUDED = Pattern.compile("(?m)^-- (lib(?:-\\w+)?)$");

	/** Line of a comment, which is left empty: Redis counts lines in errors. */
	private static final Pattern COMMENT = Pattern.compile("(?m)^[\\t ]*--.*$");

	/** Texts of the scripts read so far, with their libraries and without comments. */
	private static final Map<String, String> FILES = new ConcurrentHashMap<>();

	/** Inspection of a lock or a semaphore. */
	public static final Script INSPECT = of("inspect.lua");

	/** Check of grants, with a write for a WAIT for replicas. */
	public static final Script CONFIRM = of("confirm.lua");

	/** Search for keys. */
	public static final Script SCAN = of("scan.lua");

	/** Registration of an instance. */
	public static final Script FLEET_JOIN = of("fleet-join.lua");

	/** End of the registration of an instance. */
	public static final Script FLEET_LEAVE = of("fleet-leave.lua");

	/** List of the registered instances. */
	public static final Script FLEET_MEMBERS = of("fleet-members.lua");

	/** Request for the reports of the other instances. */
	public static final Script FLEET_ASK = of("fleet-ask.lua");

	/** Answer with the report of an instance. */
	public static final Script FLEET_ANSWER = of("fleet-answer.lua");

	/** Collection of the reports. */
	public static final Script FLEET_COLLECT = of("fleet-collect.lua");

	/** Trial of the commands that other scripts need. */
	public static final Script RIGHTS = of("rights.lua");

	/** Write that changes nothing. */
	public static final Script WRITE = of("write.lua");

	/** Message of an instance to itself. */
	public static final Script PING = of("ping.lua");

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

	/** Create a script from a beginning and files, in this order. */
	static Script of(String beginning, String... files) {
		StringBuilder text = new StringBuilder(beginning);
		for (String file : files) {
			text.append(FILES.computeIfAbsent(file, Script::withLibraries));
		}
		return new Script(text.toString());
	}

	/** Return the text, for EVAL. Must not be changed. */
	public byte[] text() {
		return this.text;
	}

	/** Return the digest, for EVALSHA. Must not be changed. */
	public byte[] digest() {
		return this.digest;
	}

	/**
	 * Write the command that calls this script. The driver would need an object for each
	 * argument, and another for all arguments.
	 * @param withText whether to send the text, because the script is unknown to Redis
	 * @param keys the KEYS
	 * @param args the ARGV: texts, whole numbers and flags
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

	private static String withLibraries(String file) {
		String text = INCLUDED.matcher(read(file))
			.replaceAll((library) -> Matcher.quoteReplacement(read(library.group(1) + ".lua")));
		return COMMENT.matcher(text).replaceAll("");
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
