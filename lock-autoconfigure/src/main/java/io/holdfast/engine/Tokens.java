package io.holdfast.engine;

import java.util.regex.Pattern;

/**
 * The form of a token: {@code <instance id>:<number>}.
 */
final class Tokens {

	private static final Pattern TOKEN = Pattern.compile("[0-9a-f]{32}:[0-9]+");

	private Tokens() {
	}

	static boolean isToken(String owner) {
		return TOKEN.matcher(owner).matches();
	}

}
