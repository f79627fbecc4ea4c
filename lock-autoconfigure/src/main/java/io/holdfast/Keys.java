package io.holdfast;

import java.time.Duration;

/**
 * Checks what users name and ask for, with messages that say what to do instead.
 */
final class Keys {

	private static final int MAX_LENGTH = 1024;

	private Keys() {
	}

	static String check(String key) {
		if (key == null || key.isBlank()) {
			throw new IllegalArgumentException("A lock's key must not be " + ((key == null) ? "null" : "blank")
					+ ": name what is to be locked, for example 'stock:SKU0001'");
		}
		if (key.length() > MAX_LENGTH) {
			throw new IllegalArgumentException("The lock's key that starts with '" + key.substring(0, 40) + "' has "
					+ key.length() + " characters, more than " + MAX_LENGTH + ": lock a shorter name or a digest");
		}
		for (int i = 0; i < key.length(); i++) {
			if (Character.isISOControl(key.charAt(i))) {
				throw new IllegalArgumentException("The lock's key has a control character (code " + (int) key.charAt(i)
						+ ") at position " + i + ": remove it");
			}
		}
		return key;
	}

	static void checkBounds(String what, String key, Duration value, Duration min, Duration max) {
		if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
			throw new IllegalArgumentException(
					what + " of lock '" + key + "' is " + value + ", which is not from " + min + " to " + max);
		}
	}

}
