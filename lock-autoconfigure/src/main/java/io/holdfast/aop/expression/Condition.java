package io.holdfast.aop.expression;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

import org.springframework.expression.EvaluationException;

/**
 * The expression that says whether a call needs anything at all. Thread-safe.
 *
 * @param expression the expression
 */
public record Condition(CallExpression expression) {

	/**
	 * Return whether a call needs what is declared.
	 * @throws IllegalArgumentException if the value is neither true nor false, or the
	 * expression fails
	 */
	public boolean holds(@Nullable Object target, @Nullable Object[] arguments) {
		Object value;
		try {
			value = this.expression.evaluate(target, arguments);
		}
		catch (EvaluationException ex) {
			throw undecided(this.expression.explain(ex, "?. for . and what null means, as in #a?.b ?: false"), ex);
		}
		if (value instanceof Boolean decision) {
			return decision;
		}
		throw undecided("its value is "
				+ ((value != null) ? "of type " + value.getClass().getTypeName() + ". Write a comparison"
						: "null. Write what null means, for example with ?: false"),
				null);
	}

	private IllegalArgumentException undecided(@Nullable String why, @Nullable Exception cause) {
		return new IllegalArgumentException(SingleLine.of(this.expression + " yields neither true nor false: " + why),
				cause);
	}

}
