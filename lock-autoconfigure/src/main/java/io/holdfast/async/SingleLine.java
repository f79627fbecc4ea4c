package io.holdfast.async;

import java.util.regex.Pattern;

/**
 * Text for messages: the names of keys, threads and users are not Holdfast's, and must
 * neither begin a line of the log nor turn around the rest of one.
 */
public final class SingleLine {

	private static final Pattern ESCAPED = Pattern
		.compile("[\\p{Cc}\\u061C\\u200E\\u200F\\u2028-\\u202E\\u2066-\\u2069]");

	private SingleLine() {
	}

	/**
	 * Return a text in which control characters, separators of lines and changes of
	 * direction are written as escapes of Java.
	 * @param text the text
	 * @return the text itself if it has none of them
	 */
	public static String of(String text) {
		return ESCAPED.matcher(text).replaceAll((found) -> String.format("\\\\u%04x", (int) found.group().charAt(0)));
	}

	/**
	 * Return a text as others are shown it: with {@code ?} in place of control
	 * characters, separators of lines and changes of direction.
	 * @param text the text
	 * @param most the most characters; the rest is cut off
	 * @return the text itself if it has none of them and is not too long
	 */
	public static String shown(String text, int most) {
		return ESCAPED.matcher((text.length() <= most) ? text : text.substring(0, most)).replaceAll("?");
	}

}
