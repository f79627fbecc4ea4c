package io.holdfast.aop.expression;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

import org.springframework.expression.EvaluationException;

/**
 * The expression that says which keys a call needs. Thread-safe.
 *
 * @param <R> the type of the requests
 * @param expression the expression
 * @param several whether a call may have several keys
 * @param one gives the whole request for a key, which is not blank
 * @param all gives the whole request for several keys, at least one and none of them
 * blank. Both refuse what cannot be a key with an {@link IllegalArgumentException}
 */
public record KeyExpression<R>(CallExpression expression, boolean several, Function<String, R> one,
		Function<List<String>, R> all) implements RequestFactory<R> {

	/** Refuses values that are blank, or null, or not fit for a key, or none at all. */
	@Override
	public R request(@Nullable Object target, @Nullable Object[] arguments) {
		Object value;
		try {
			value = this.expression.evaluate(target, arguments);
		}
		catch (EvaluationException ex) {
			throw noKey("", this.expression.explain(ex, "?. for . and a key for this call, as in #a?.b ?: 'none'"), ex);
		}
		catch (KeyText.NoTextException ex) {
			throw noKey("", ex.getMessage(), ex);
		}
		@Nullable Object[] values = (this.several && !(value instanceof String)) ? KeyText.split(KeyText.unboxed(value)) : null;
		return (values != null) ? made(this.all, texts(values)) : made(this.one, text(value, ""));
	}

	private <T> R made(Function<T, R> function, T text) {
		try {
			return function.apply(text);
		}
		catch (IllegalArgumentException ex) {
			throw new IllegalArgumentException(
					SingleLine.of(this + " yields text that cannot be a key: " + ex.getMessage()), ex);
		}
	}

	private List<String> texts(@Nullable Object[] values) {
		if (values.length == 0) {
			throw noKey("", "the collection is empty. Refuse the call, or have a condition let it run without a lock",
					null);
		}
		List<String> texts = new ArrayList<>(values.length);
		for (int i = 0; i < values.length; i++) {
			texts.add(text(values[i], " at index " + i));
		}
		return texts;
	}

	private String text(@Nullable Object value, String where) {
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
		return text;
	}

	private IllegalArgumentException noKey(String where, @Nullable String why, @Nullable Exception cause) {
		return new IllegalArgumentException(SingleLine.of(this.expression + " yields no key" + where + ": " + why),
				cause);
	}

	@Override
	public String toString() {
		return this.expression.toString();
	}

}
