package io.holdfast.redis.script;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * The Lua scripts: constants, read once.
 */
public enum Script {

	ACQUIRE("grace.lua", "lock-reads.lua", "lock-grant.lua", "lock-acquire-free.lua", "lock-shared.lua",
			"lock-acquire.lua"),

	RELEASE("grace.lua", "lock-reads.lua", "lock-release-free.lua", "lock-grant.lua", "lock-release-next.lua",
			"lock-shared.lua", "lock-release.lua"),

	RENEW("grace.lua", "renew.lua"),

	INSPECT("lock-inspect.lua"),

	PERMITS_ACQUIRE("grace.lua", "permits-shared.lua", "permits-ask.lua", "permits-acquire.lua"),

	PERMITS_RELEASE("grace.lua", "permits-shared.lua", "permits-ask.lua", "permits-release.lua"),

	PERMITS_SHRINK("grace.lua", "permits-shared.lua", "permits-shrink.lua"),

	PERMITS_LIMIT("grace.lua", "permits-shared.lua", "permits-limit.lua"),

	PERMITS_RENEW("grace.lua", "permits-renew.lua"),

	PERMITS_INSPECT("permits-inspect.lua"),

	CONFIRM("confirm.lua"),

	SCAN("scan.lua"),

	FLEET_JOIN("fleet-join.lua"),

	FLEET_LEAVE("fleet-leave.lua"),

	FLEET_MEMBERS("fleet-members.lua"),

	FLEET_ASK("fleet-ask.lua"),

	FLEET_ANSWER("fleet-answer.lua"),

	FLEET_COLLECT("fleet-collect.lua"),

	FINGERPRINTS("fingerprints.lua"),

	RIGHTS("rights.lua"),

	FLEET_RIGHTS("fleet-rights.lua"),

	PING("ping.lua");

	private static final String FOLDER = "/io/holdfast/redis/";

	private final byte[] text;

	private final byte[] digest;

	Script(String... files) {
		StringBuilder joined = new StringBuilder();
		for (String file : files) {
			joined.append(read(file));
		}
		this.text = joined.toString().getBytes(StandardCharsets.UTF_8);
		this.digest = sha1(this.text);
	}

	/**
	 * Read all scripts, if that was not done before: the thread of the first command may
	 * be one that must not read files.
	 */
	public static void load() {
		// Done by the initialization of this class.
	}

	/**
	 * Return what EVAL takes.
	 * @return the script's text, not to be changed
	 */
	public byte[] text() {
		return this.text;
	}

	/**
	 * Return what EVALSHA takes.
	 * @return the name that Redis gives the script, not to be changed
	 */
	public byte[] digest() {
		return this.digest;
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

	private static byte[] sha1(byte[] text) {
		try {
			String digits = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(text));
			return digits.getBytes(StandardCharsets.US_ASCII);
		}
		catch (NoSuchAlgorithmException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
