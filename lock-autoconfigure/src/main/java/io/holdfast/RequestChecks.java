package io.holdfast;

import java.time.Duration;
import java.util.List;

import io.holdfast.async.SingleLine;

/**
 * Checks names and terms of users' requests, with messages that say the cure.
 */
final class RequestChecks {

	/** Longest wait that is told apart from waiting for ever. */
	static final Duration FOREVER = Duration.ofNanos(Long.MAX_VALUE / 4);

	/** Below this, neither the network's nor the scheduler's jitter is covered. */
	static final Duration MIN_LEASE = Duration.ofMillis(100);

	static final Duration MAX_LEASE = Duration.ofDays(365);

	/** Characters of a note. */
	private static final int MAX_NOTE = 200;

	private static final int MAX_LENGTH = 1024;

	private RequestChecks() {
	}

	static String check(String what, String key) {
		if (key == null || key.isBlank()) {
			throw new IllegalArgumentException("A " + what + "'s key must not be " + ((key == null) ? "null" : "blank")
					+ ": name what it is for, for example 'stock:SKU0001'");
		}
		if (key.length() > MAX_LENGTH) {
			throw new IllegalArgumentException("The " + what + "'s key that starts with '"
					+ SingleLine.of(key.substring(0, 40)) + "' has " + key.length() + " characters, more than "
					+ MAX_LENGTH + ": use a shorter name or a digest");
		}
		for (int i = 0; i < key.length(); i++) {
			if (Character.isSurrogate(key.charAt(i)) && key.codePointAt(i) == key.charAt(i)
					&& (i == 0 || !Character.isHighSurrogate(key.charAt(i - 1)))) {
				throw new IllegalArgumentException("The " + what + "'s key has half of a surrogate pair at position "
						+ i + ", which is no character: remove it");
			}
			if (Character.isISOControl(key.charAt(i))) {
				throw new IllegalArgumentException("The " + what + "'s key has a control character (code "
						+ (int) key.charAt(i) + ") at position " + i + ": remove it");
			}
		}
		return key;
	}

	static String checkName(String what, String name) {
		if (name == null || name.isBlank()) {
			throw new IllegalArgumentException(SingleLine.of(what) + " is " + ((name == null) ? "null" : "blank")
					+ ": name what it is for, or leave it out");
		}
		return name;
	}

	static String checkNote(String what, String note) {
		if (note == null || note.isBlank() || note.length() > MAX_NOTE) {
			throw new IllegalArgumentException(SingleLine.of(what) + " is "
					+ ((note == null) ? "null" : note.isBlank() ? "blank" : "of " + note.length() + " characters")
					+ ": write a text of up to " + MAX_NOTE + " characters, or leave it out");
		}
		return note;
	}

	/** Several keys in one text, for messages. */
	static String join(List<String> keys) {
		int shown = Math.min(keys.size(), 5);
		return String.join(", ", keys.subList(0, shown))
				+ ((keys.size() > shown) ? " and " + (keys.size() - shown) + " more" : "");
	}

	static void checkBounds(String what, Duration value, Duration min, Duration max) {
		if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
			throw new IllegalArgumentException(
					SingleLine.of(what) + " is " + value + ", which is not from " + min + " to " + max);
		}
	}

	static Duration checkWait(String what, Duration waitTime) {
		if (waitTime.isNegative()) {
			throw new IllegalArgumentException(
					SingleLine.of(what) + " is negative: " + waitTime + "; use zero to try once, or waitForever()");
		}
		return (waitTime.compareTo(FOREVER) < 0) ? waitTime : FOREVER;
	}

	static int checkCount(String what, int value, int min, int max) {
		if (value < min || value > max) {
			throw new IllegalArgumentException(
					SingleLine.of(what) + " is " + value + ", which is not from " + min + " to " + max);
		}
		return value;
	}

}
