package io.holdfast.aop;

import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.ParseException;
import org.springframework.expression.TypedValue;
import org.springframework.expression.spel.ExpressionState;
import org.springframework.expression.spel.SpelEvaluationException;
import org.springframework.expression.spel.SpelParserConfiguration;
import org.springframework.expression.spel.ast.SpelNodeImpl;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.StandardEvaluationContext;

/**
 * An expression of an annotation on the arguments of a call. Parsed and checked once, and
 * evaluated for each call. Thread-safe.
 *
 * @param use the use of the expression
 * @param text the expression as text
 * @param annotatedMethod the annotation
 * @param parameters the positions of the arguments, by name
 * @param expression the parsed expression
 * @param delegates the shared evaluation context of all calls
 */
record CallExpression(Use use, String text, AnnotatedMethod annotatedMethod, Map<String, Integer> parameters,
		SpelNodeImpl expression, StandardEvaluationContext delegates) {

	private static final SpelParserConfiguration CONFIGURATION = new SpelParserConfiguration();

	/**
	 * Parse an expression.
	 * @param text the expression with placeholders resolved
	 * @throws InvalidDeclarationException if the expression cannot be parsed, has an
	 * unknown name, or changes a value
	 */
	static CallExpression parse(Use use, String text, AnnotatedMethod annotatedMethod,
			StandardEvaluationContext delegates) {
		Map<String, Integer> parameters = parameters(annotatedMethod);
		SpelNodeImpl root;
		try {
			root = (SpelNodeImpl) new SpelExpressionParser(CONFIGURATION).parseRaw(text).getAST();
		}
		catch (ParseException | IllegalStateException ex) {
			String name = parameters.keySet().stream().findFirst().orElse("root.methodName");
			throw annotatedMethod
				.invalid(use.attribute, text, "is no valid expression: " + ex.getMessage(),
						"Write for example " + use.example.replace("#name", "#" + name))
				.causedBy(ex);
		}
		String mistake = ExpressionSyntax.findMistake(root, parameters.keySet());
		if (mistake != null) {
			throw annotatedMethod.invalid(use.attribute, text, "has an unknown name: " + mistake,
					cure(annotatedMethod, parameters) + "; " + use.hint);
		}
		ExpressionSyntax.Missing missing = ExpressionSyntax.findMissing(root, annotatedMethod.method(), parameters);
		if (missing != null) {
			throw annotatedMethod.invalid(use.attribute, text, "has an unknown name: " + missing.text(),
					cureOfUnknown(missing.origin()));
		}
		String assignment = ExpressionSyntax.findAssignment(root);
		if (assignment != null) {
			throw annotatedMethod.invalid(use.attribute, text, "changes something: " + assignment,
					"Write an expression that only reads, as with == for a comparison");
		}
		return new CallExpression(use, text, annotatedMethod, parameters,
				(use == Use.KEY) ? ExpressionSyntax.refuseNullInText(root) : root, delegates);
	}

	/**
	 * Return the parameters that an expression can use.
	 * @return the positions of the parameters, by name
	 */
	static Map<String, Integer> parameters(AnnotatedMethod annotatedMethod) {
		Map<String, Integer> positions = new LinkedHashMap<>();
		Method annotated = (annotatedMethod.source() instanceof Method source) ? source : annotatedMethod.method();
		for (Method method : List.of(annotated, annotatedMethod.method())) {
			@Nullable String @Nullable [] names = DefaultParameterNameDiscoverer.getSharedInstance().getParameterNames(method);
			for (int i = 0; names != null && i < Math.min(names.length, annotatedMethod.parameterCount()); i++) {
				String name = names[i];
				if (name != null) {
					// An expression on an interface uses the interface's parameter names.
					positions.putIfAbsent(name, i);
				}
			}
		}
		for (int i = 0; i < annotatedMethod.parameterCount(); i++) {
			// A parameter may have such a name itself, at another position.
			positions.putIfAbsent("p" + i, i);
			positions.putIfAbsent("a" + i, i);
		}
		return positions;
	}

	private static String cure(AnnotatedMethod annotatedMethod, Map<String, Integer> parameters) {
		int named = parameters.size() - 2 * annotatedMethod.parameterCount();
		if (parameters.isEmpty()) {
			return "The method has no parameters";
		}
		if (named == 0) {
			return "The names of the method's parameters are not known: compile with -parameters (in Kotlin: "
					+ "-java-parameters, or add kotlin-reflect), or write #p0 for the first parameter";
		}
		return "The method's parameters are " + String.join(", ",
				parameters.entrySet()
					.stream()
					.limit(named)
					.map((parameter) -> reference(parameter.getKey(), parameter.getValue()))
					.toList());
	}

	private static String reference(String name, int position) {
		return switch (name) {
			// In Kotlin, the receiver of an extension function has no usable name.
			case "$receiver" -> "#p0 for the receiver";
			case "root" -> "#p" + position + " for root";
			default -> "#" + name;
		};
	}

	/**
	 * Return the keys of a call.
	 * @param prefix the text in front of each key
	 * @param several whether the value may be a collection or an array of keys
	 * @throws IllegalArgumentException if there is no key, a key is null or blank, or the
	 * expression fails
	 */
	List<String> keys(@Nullable Object target, @Nullable Object[] arguments, String prefix, boolean several) {
		Object value = evaluate(target, arguments);
		@Nullable Object[] values = (several && !(value instanceof String)) ? KeyText.split(value) : null;
		if (values == null) {
			return List.of(prefix + key(value, ""));
		}
		if (values.length == 0) {
			throw failed(
					"no key: the collection is empty. Refuse the call, or have a condition let it run without a lock",
					null);
		}
		return IntStream.range(0, values.length).mapToObj((i) -> prefix + key(values[i], " at index " + i)).toList();
	}

	private String key(@Nullable Object value, String where) {
		String text;
		try {
			text = (value instanceof String written) ? written : KeyText.of(value);
		}
		catch (KeyText.NoTextException ex) {
			throw failed("no key" + where + ": " + ex.getMessage(), ex);
		}
		if (text.isBlank()) {
			throw failed("no key" + where + ": its value is blank. Give this call a key of its own, or refuse the call",
					null);
		}
		return text;
	}

	private @Nullable Object evaluate(@Nullable Object target, @Nullable Object[] arguments) {
		try {
			return this.expression.getValue(new Call(new Root(target, this.annotatedMethod, arguments)));
		}
		catch (EvaluationException ex) {
			throw failed(this.use.failure + ": " + explain(ex), ex);
		}
		catch (KeyText.NoTextException ex) {
			throw failed(this.use.failure + ": " + ex.getMessage(), ex);
		}
	}

	/**
	 * Return the value of a condition for a call.
	 * @throws IllegalArgumentException if the value is not a boolean, or the expression
	 * fails
	 */
	boolean holds(@Nullable Object target, @Nullable Object[] arguments) {
		Object value = evaluate(target, arguments);
		if (value instanceof Boolean decision) {
			return decision;
		}
		throw failed("neither true nor false: its value is "
				+ ((value != null) ? "of type " + value.getClass().getTypeName() + ". Write a comparison"
						: "null. Write what null means, for example with ?: false"),
				null);
	}

	IllegalArgumentException failed(String yield, @Nullable Exception cause) {
		return new IllegalArgumentException(SingleLine.of(this + " yields " + yield), cause);
	}

	/**
	 * Return an explanation of a failed evaluation: Spring's message with a remedy,
	 * without a full stop.
	 */
	private String explain(EvaluationException error) {
		String cure = "Correct the expression, or refuse the call";
		if (error instanceof SpelEvaluationException known) {
			cure = switch (known.getMessageCode()) {
				case PROPERTY_OR_FIELD_NOT_READABLE_ON_NULL, METHOD_CALL_ON_NULL_OBJECT_NOT_ALLOWED,
						CANNOT_INDEX_INTO_NULL_VALUE ->
					"The value before it is null in this call: write " + this.use.substitute + ", or refuse the call";
				case PROPERTY_OR_FIELD_NOT_READABLE, METHOD_NOT_FOUND, FUNCTION_NOT_DEFINED ->
					cureOfUnknown(this.annotatedMethod.method());
				case TYPE_NOT_FOUND ->
					"Write the full name of a class, as in T(java.time.LocalDate); a native image has "
							+ "only classes that are registered for reflection";
				case EXCEPTION_DURING_BEAN_RESOLUTION ->
					"Write the name of a bean of this application after the @, in quotes if it has other characters than "
							+ "letters and digits";
				case COLLECTION_INDEX_OUT_OF_BOUNDS, ARRAY_INDEX_OUT_OF_BOUNDS, STRING_INDEX_OUT_OF_BOUNDS ->
					"Write an expression that allows fewer elements, or refuse the call";
				default -> cure;
			};
		}
		return error.getMessage() + ". " + cure;
	}

	private static String cureOfUnknown(Member origin) {
		// Kotlin appends a hash to the names of functions with value classes.
		return origin.getName().contains("-") ? "In Kotlin, a value class is its value: write #a for #a.b"
				: "Write the name of an existing public property or method; a native image has only members that "
						+ "are registered for reflection";
	}

	/** Return annotation, method and attribute, for messages. */
	@Override
	public String toString() {
		return this.annotatedMethod.describe(this.use.attribute, this.text);
	}

	/**
	 * Use of an expression.
	 */
	enum Use {

		/** Key: yields one or several texts. */
		KEY("key", "no key", "#name, or 'text:' + #name", "put text into quotes, or write it as name",
				"?. for . and a key for this call, as in #a?.b ?: 'none'"),

		/** Condition: yields true or false. */
		CONDITION("condition", "neither true nor false", "#name != null", "put text into quotes",
				"?. for . and what null means, as in #a?.b ?: false");

		final String attribute;

		private final String failure;

		private final String example;

		private final String hint;

		private final String substitute;

		Use(String attribute, String failure, String example, String hint, String substitute) {
			this.attribute = attribute;
			this.failure = failure;
			this.example = example;
			this.hint = hint;
			this.substitute = substitute;
		}

	}

	/**
	 * State of the evaluation for a call. Looks arguments up by name, so that all calls
	 * share one evaluation context. {@code MethodBasedEvaluationContext} would copy the
	 * arguments into a map for each call, and knows the names of one method only.
	 */
	private final class Call extends ExpressionState {

		private final Root root;

		Call(Root root) {
			super(CallExpression.this.delegates, new TypedValue(root), CONFIGURATION);
			this.root = root;
		}

		@Override
		public TypedValue lookupVariable(String name) {
			Integer position = CallExpression.this.parameters.get(name);
			return (position != null) ? new TypedValue(this.root.arguments()[position]) : TypedValue.NULL;
		}

	}

	/**
	 * The object {@code #root} of a call.
	 *
	 * @param target the called object
	 * @param declaration the annotation
	 * @param arguments the arguments of the call
	 */
	public record Root(@Nullable Object target, AnnotatedMethod declaration, @Nullable Object[] arguments) {

		/** Return the called method. */
		public Method method() {
			return this.declaration.method();
		}

		/** Return the class of the called object. */
		public Class<?> targetClass() {
			return this.declaration.targetClass();
		}

		/** Return the arguments, without the continuation of a suspending function. */
		public @Nullable Object[] args() {
			return Arrays.copyOf(this.arguments, this.declaration.parameterCount());
		}

		/** Return the name of the method in its source code. */
		public String methodName() {
			return AnnotatedMethod.sourceName(method());
		}

	}

}
