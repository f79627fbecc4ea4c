package io.holdfast.redis.script;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;

import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.redis.key.RedisKeys;

/**
 * Encodes what scripts take for their ARGV. Made for each command: so without texts of
 * numbers in between.
 */
public final class ScriptArgv {

	/** An empty text. */
	public static final byte[] NOTHING = {};

	private static final byte[] NO = { '0' };

	private static final byte[] YES = { '1' };

	private static final byte[] SMALLEST = "-9223372036854775808".getBytes(StandardCharsets.US_ASCII);

	private ScriptArgv() {
	}

	/**
	 * Arguments of any kind.
	 * @param values texts, numbers, flags, times for their milliseconds, or bytes
	 * @return the arguments
	 */
	public static byte[][] of(Object... values) {
		byte[][] args = new byte[values.length][];
		for (int i = 0; i < values.length; i++) {
			args[i] = bytes(values[i]);
		}
		return args;
	}

	/**
	 * Return what a script takes that renews leases. All mostly are to last equally long,
	 * which is said once then: there are many in a command.
	 * @param renewals the leases
	 * @param permits whether to say how many permits each has
	 * @return the arguments
	 */
	public static byte[][] ofRenewals(List<Renewal> renewals, boolean permits) {
		int count = renewals.size();
		boolean alike = count > 0
				&& renewals.stream().allMatch((renewal) -> renewal.leaseMillis() == renewals.get(0).leaseMillis());
		List<Renewal> leases = alike ? renewals.subList(0, 1) : renewals;
		byte[][] args = new byte[(permits ? 2 : 1) * count + leases.size()][];
		int i = 0;
		for (Renewal renewal : renewals) {
			args[i++] = RedisKeys.bytes(renewal.token());
		}
		if (permits) {
			for (Renewal renewal : renewals) {
				args[i++] = number(renewal.permits());
			}
		}
		for (Renewal renewal : leases) {
			args[i++] = number(renewal.leaseMillis());
		}
		return args;
	}

	private static byte[] bytes(Object value) {
		if (value instanceof byte[] bytes) {
			return bytes;
		}
		if (value instanceof Boolean yes) {
			return flag(yes);
		}
		if (value instanceof Duration time) {
			return number(time.toMillis());
		}
		return RedisKeys.bytes(value.toString());
	}

	/** Return a flag as scripts get it. */
	public static byte[] flag(boolean flag) {
		return flag ? YES : NO;
	}

	/**
	 * A number.
	 * @param number the number
	 * @return its decimal digits
	 */
	public static byte[] number(long number) {
		if (number == Long.MIN_VALUE) {
			return SMALLEST;
		}
		int length = (number < 0) ? 2 : 1;
		for (long rest = Math.abs(number) / 10; rest > 0; rest /= 10) {
			length++;
		}
		byte[] digits = new byte[length];
		long rest = Math.abs(number);
		do {
			digits[--length] = (byte) ('0' + rest % 10);
			rest /= 10;
		}
		while (rest > 0);
		if (number < 0) {
			digits[0] = '-';
		}
		return digits;
	}

}
