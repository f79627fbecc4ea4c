package io.holdfast.aop;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

import org.springframework.expression.EvaluationException;

/**
 * The expression that gives the keys of a call. Thread-safe.
 *
 * @param <R> the type of the requests
 * @param expression the expression
 * @param prefix the text before each key
 * @param several whether a call may have several keys
 * @param one gives the whole request for a key
 * @param all gives the whole request for several keys. Both refuse unfit keys with an
 * {@link IllegalArgumentException}
 */
record KeyExpression<R>(CallExpression expression, String prefix, boolean several, Function<String, R> one,
		Function<List<String>, R> all) {

	/**
	 * Return the request of a call.
	 * @throws IllegalArgumentException if a key is null, blank or unfit, or there is none
	 */
	R request(@Nullable Object target, @Nullable Object[] arguments) {
		Object value;
		try {
			value = this.expression.evaluate(target, arguments);
		}
		catch (EvaluationException ex) {
			throw noKey("", this.expression.explain(ex), ex);
		}
		catch (KeyText.NoTextException ex) {
			throw noKey("", ex.getMessage(), ex);
		}
		@Nullable Object[] values = (this.several && !(value instanceof String)) ? KeyText.split(KeyText.unboxed(value)) : null;
		return (values != null) ? made(this.all, keys(values)) : made(this.one, key(value, ""));
	}

	private <T> R made(Function<T, R> function, T key) {
		try {
			return function.apply(key);
		}
		catch (IllegalArgumentException ex) {
			throw this.expression.failed("text that cannot be a key: " + ex.getMessage(), ex);
		}
	}

	private List<String> keys(@Nullable Object[] values) {
		if (values.length == 0) {
			throw noKey("", "the collection is empty. Refuse the call, or have a condition let it run without a lock",
					null);
		}
		List<String> keys = new ArrayList<>(values.length);
		for (Object value : values) {
			keys.add(key(value, " at index " + keys.size()));
		}
		return keys;
	}

	private String key(@Nullable Object value, String where) {
		String text;
		try {
			text = (value instanceof String written) ? written : KeyText.of(value);
		}
		catch (KeyText.NoTextException ex) {
			throw noKey(where, ex.getMessage(), ex);
		}
		if (text.isBlank()) {
			throw noKey(where, "its value is blank. Give this call a key of its own, or refuse the call", null);
		}
		return this.prefix.isEmpty() ? text : this.prefix + text;
	}

	private IllegalArgumentException noKey(String where, @Nullable String why, @Nullable Exception cause) {
		return this.expression.failed("no key" + where + ": " + why, cause);
	}

}
