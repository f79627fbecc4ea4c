package io.holdfast.engine.store;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * Format of tokens: {@code <instance id>:<number>}.
 */
public final class Tokens {

	private static final Pattern TOKEN = Pattern.compile("[0-9a-f]{32}:[0-9]{1,18}");

	private static final int ID_LENGTH = 32;

	private static final int SHOWN_BYTES = 4;

	private Tokens() {
	}

	/**
	 * Return the token of a request.
	 * @param instanceId the id of the request's instance
	 * @param number the number of the request within its instance
	 */
	public static String of(String instanceId, long number) {
		return instanceId + ":" + number;
	}

	/** Return whether an owner's value has the format of a token. */
	public static boolean isToken(String owner) {
		return TOKEN.matcher(owner).matches();
	}

	/** Return whether a token belongs to an instance. */
	public static boolean isOf(String token, String instanceId) {
		return token.startsWith(instanceId) && token.charAt(ID_LENGTH) == ':';
	}

	/** Return the number of a token's request within its instance. */
	public static long number(String token) {
		return Long.parseLong(token.substring(ID_LENGTH + 1));
	}

	/** Return the id of a token's instance. */
	public static String instance(String token) {
		return token.substring(0, ID_LENGTH);
	}

	/** Return the public id of a token's instance. */
	public static String shownInstance(String token) {
		return shown(instance(token));
	}

	/**
	 * Return the public id of an instance. The full id is secret, because it allows
	 * guessing tokens and releasing leases.
	 */
	public static String shown(String instanceId) {
		return digest(instanceId, SHOWN_BYTES);
	}

	/** Return the first bytes of the SHA-256 of a text, as hexadecimal digits. */
	public static String digest(String text, int bytes) {
		try {
			byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
			return HexFormat.of().formatHex(digest, 0, bytes);
		}
		catch (NoSuchAlgorithmException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
