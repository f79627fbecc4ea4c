package io.holdfast.engine.store;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * The form of a token: {@code <instance id>:<number>}.
 */
public final class Tokens {

	private static final Pattern TOKEN = Pattern.compile("[0-9a-f]{32}:[0-9]{1,18}");

	private static final int ID_LENGTH = 32;

	private static final int SHOWN_BYTES = 4;

	private Tokens() {
	}

	/**
	 * Return the token of a request.
	 * @param instanceId whose
	 * @param number which of its requests
	 */
	public static String of(String instanceId, long number) {
		return instanceId + ":" + number;
	}

	/** Return whether an owner's text is a token of some instance. */
	public static boolean isToken(String owner) {
		return TOKEN.matcher(owner).matches();
	}

	/** Return whether a token is of an instance. */
	public static boolean isOf(String token, String instanceId) {
		return token.startsWith(instanceId) && token.charAt(ID_LENGTH) == ':';
	}

	/** Return which of its instance's requests a token is of. */
	public static long number(String token) {
		return Long.parseLong(token.substring(ID_LENGTH + 1));
	}

	/** Return the id of the instance that a token is of. */
	public static String instance(String token) {
		return token.substring(0, ID_LENGTH);
	}

	/** Return the public id of the instance that a token is of. */
	public static String shownInstance(String token) {
		return shown(instance(token));
	}

	/**
	 * Return the public id of an instance: with its full id one could guess its tokens,
	 * and release its leases.
	 */
	public static String shown(String instanceId) {
		try {
			byte[] digest = MessageDigest.getInstance("SHA-256").digest(instanceId.getBytes(StandardCharsets.US_ASCII));
			return HexFormat.of().formatHex(digest, 0, SHOWN_BYTES);
		}
		catch (NoSuchAlgorithmException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
