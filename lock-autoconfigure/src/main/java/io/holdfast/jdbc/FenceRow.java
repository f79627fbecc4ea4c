package io.holdfast.jdbc;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * A row of the fence table.
 *
 * @param name the Redis key of the lock, shortened if it does not fit into the column
 * @param token the fencing token of the lease
 */
record FenceRow(String name, long token) {

	private static final int LONGEST = 255;

	private static final int HEAD = LONGEST - 65;

	/**
	 * Create the row of a lease. The name is the key. If the key is too long for the
	 * column, ends with a blank (which databases ignore) or has a NUL (which PostgreSQL
	 * cannot store), the name is the beginning of the key and a hash of the whole key.
	 * @param redisKey the key of the lock in Redis, with its prefix
	 * @param token the fencing token of the lease
	 * @return the row
	 */
	static FenceRow of(String redisKey, long token) {
		boolean fits = redisKey.length() <= LONGEST && !redisKey.endsWith(" ") && redisKey.indexOf('\0') < 0;
		return new FenceRow(fits ? redisKey : shortened(redisKey), token);
	}

	private static String shortened(String redisKey) {
		int end = Math.min(HEAD, redisKey.length());
		if (Character.isHighSurrogate(redisKey.charAt(end - 1))) {
			end--;
		}
		return redisKey.substring(0, end).replace('\0', '?') + "#" + hash(redisKey);
	}

	private static String hash(String redisKey) {
		try {
			byte[] hash = MessageDigest.getInstance("SHA-256").digest(redisKey.getBytes(StandardCharsets.UTF_8));
			return HexFormat.of().formatHex(hash);
		}
		catch (NoSuchAlgorithmException ex) {
			throw new IllegalStateException("Each JDK has SHA-256", ex);
		}
	}

}
