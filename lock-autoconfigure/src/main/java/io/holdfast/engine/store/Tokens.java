package io.holdfast.engine.store;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * The form of a token: {@code <instance id>:<number>}. With a number that begins with 0
 * the instance asks to be notified when other instances want what the token holds.
 *
 * @since 0.1.0
 */
public final class Tokens {

	private static final Pattern TOKEN = Pattern.compile("[0-9a-f]{32}:[0-9]{1,18}");

	private static final int ID_LENGTH = 32;

	/** What the number begins with if the instance is to be notified. */
	private static final char NOTIFIED = '0';

	private static final int SHOWN_BYTES = 4;

	private Tokens() {
	}

	/**
	 * Return the token of a request.
	 * @param instanceId whose
	 * @param number which of its requests
	 * @param notified whether the store is to notify the instance when others want what
	 * the token holds
	 */
	public static String of(String instanceId, long number, boolean notified) {
		return instanceId + (notified ? ":" + NOTIFIED : ":") + number;
	}

	/** Return whether the store notifies its instance when others want what it holds. */
	public static boolean isNotifiedWhenWanted(String token) {
		return token.charAt(ID_LENGTH + 1) == NOTIFIED;
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

	/** Return what may be shown of the instance that a token is of. */
	public static String shownInstance(String token) {
		return shown(instance(token));
	}

	/**
	 * Return what may be shown of an instance: with its id one could guess its tokens,
	 * and release what it holds.
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
