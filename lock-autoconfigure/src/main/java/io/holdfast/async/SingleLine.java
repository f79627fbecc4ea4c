package io.holdfast.async;

/**
 * Text for messages: the names of keys, threads and users are not Holdfast's, and must
 * neither begin a line of the log nor turn around the rest of one.
 */
public final class SingleLine {

	private SingleLine() {
	}

	/**
	 * Return a text in which control characters, separators of lines and changes of
	 * direction are written as escapes of Java.
	 * @param text the text
	 * @return the text itself if it has none of them
	 */
	public static String of(String text) {
		for (int i = 0; i < text.length(); i++) {
			if (isEscaped(text.charAt(i))) {
				return escape(text);
			}
		}
		return text;
	}

	/**
	 * Return a text as others are shown it: with {@code ?} in place of control
	 * characters, separators of lines and changes of direction.
	 * @param text the text
	 * @param most the most characters; the rest is cut off
	 * @return the text itself if it has none of them and is not too long
	 */
	public static String shown(String text, int most) {
		String shown = (text.length() <= most) ? text : text.substring(0, most);
		if (shown.chars().noneMatch((c) -> isEscaped((char) c))) {
			return shown;
		}
		StringBuilder line = new StringBuilder(shown);
		for (int i = 0; i < line.length(); i++) {
			if (isEscaped(line.charAt(i))) {
				line.setCharAt(i, '?');
			}
		}
		return line.toString();
	}

	private static String escape(String text) {
		StringBuilder line = new StringBuilder(text.length() + 16);
		for (char c : text.toCharArray()) {
			if (isEscaped(c)) {
				line.append("\\u").append(Integer.toHexString(0x10000 | c), 1, 5);
			}
			else {
				line.append(c);
			}
		}
		return line.toString();
	}

	private static boolean isEscaped(char c) {
		return Character.isISOControl(c) || c == '\u061C' || (c >= '\u200E' && c <= '\u200F')
				|| (c >= '\u2028' && c <= '\u202E') || (c >= '\u2066' && c <= '\u2069');
	}

}
