package io.holdfast.async;

import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

/**
 * Escapes text in messages. Names of keys, threads and users are not under Holdfast's
 * control, and must neither forge lines of the log nor change the direction of text.
 */
public final class SingleLine {

	private static final Pattern ESCAPED = Pattern
		.compile("[\\p{Cc}\\u061C\\u200E\\u200F\\u2028-\\u202E\\u2066-\\u2069]");

	private SingleLine() {
	}

	/**
	 * Return a text with control characters, line separators and changes of text
	 * direction as Java escapes.
	 * @param text the text; {@code null} for the key of a mocked lease
	 * @return the escaped text
	 */
	public static String of(@Nullable String text) {
		return ESCAPED.matcher(String.valueOf(text))
			.replaceAll((found) -> String.format("\\\\u%04x", (int) found.group().charAt(0)));
	}

	/**
	 * Return a text with {@code ?} in place of control characters, line separators and
	 * changes of text direction.
	 * @param text the text
	 * @param maxLength the maximum length in characters; the rest is cut off
	 * @return the text to show
	 */
	public static String shown(String text, int maxLength) {
		return ESCAPED.matcher((text.length() <= maxLength) ? text : text.substring(0, maxLength)).replaceAll("?");
	}

}
