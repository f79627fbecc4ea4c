package io.holdfast.jdbc;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * A row of the fence table.
 *
 * @param name the Redis key of a lock, shortened if the column cannot hold it
 * @param token the fencing token of a lease
 */
record FenceRow(String name, long token) {

	private static final int LONGEST = 255;

	private static final int HEAD = LONGEST - 65;

	/**
	 * Create the row of a lease. The name of a key that is too long for the column, that
	 * ends with a blank (databases ignore blanks there) or has a NUL (PostgreSQL stores
	 * none) is its beginning and a hash of all of it.
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
