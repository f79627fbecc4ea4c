package io.holdfast.aop.expression;

import java.lang.reflect.Member;
import java.lang.reflect.Method;

import org.springframework.expression.EvaluationException;
import org.springframework.expression.spel.SpelEvaluationException;

/**
 * Tells what can be done about an expression that fails in a call. The language says what
 * failed, but not what to write instead.
 */
final class EvaluationTrouble {

	private EvaluationTrouble() {
	}

	/**
	 * Explain an error.
	 * @param substitute what may be written for a value that is not there
	 * @return what failed and what to do, without a full stop
	 */
	static String explain(EvaluationException error, String substitute, Method method) {
		return error.getMessage() + ". " + cure(error, substitute, method);
	}

	/**
	 * Return what to write instead of a property or method that is not there.
	 * @return what to do, without a full stop
	 */
	static String cureOfUnknown(Member origin) {
		// Kotlin adds a hash to the names of what takes or gives a value class.
		return origin.getName().contains("-") ? "In Kotlin, a value class is its value: write #a for #a.b"
				: "Write the name of an existing public property or method; a native image has only those that are "
						+ "registered for reflection";
	}

	private static String cure(EvaluationException error, String substitute, Method method) {
		if (!(error instanceof SpelEvaluationException known)) {
			return "Correct the expression, or refuse the call";
		}
		return switch (known.getMessageCode()) {
			case PROPERTY_OR_FIELD_NOT_READABLE_ON_NULL, METHOD_CALL_ON_NULL_OBJECT_NOT_ALLOWED,
					CANNOT_INDEX_INTO_NULL_VALUE ->
				"The value before it is null in this call: write " + substitute + ", or refuse the call";
			case PROPERTY_OR_FIELD_NOT_READABLE, METHOD_NOT_FOUND, FUNCTION_NOT_DEFINED -> cureOfUnknown(method);
			case TYPE_NOT_FOUND -> "Write the full name of a class, as in T(java.time.LocalDate); a native image has "
					+ "only those that are registered for reflection";
			case EXCEPTION_DURING_BEAN_RESOLUTION ->
				"Write the name of a bean of this application after the @, in quotes if it has other characters than "
						+ "letters and digits";
			case COLLECTION_INDEX_OUT_OF_BOUNDS, ARRAY_INDEX_OUT_OF_BOUNDS, STRING_INDEX_OUT_OF_BOUNDS ->
				"Write what is meant if there are fewer, or refuse the call";
			default -> "Correct the expression, or refuse the call";
		};
	}

}
