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
import org.springframework.expression.BeanResolver;
import org.springframework.expression.ConstructorResolver;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.IndexAccessor;
import org.springframework.expression.MethodResolver;
import org.springframework.expression.OperatorOverloader;
import org.springframework.expression.ParseException;
import org.springframework.expression.PropertyAccessor;
import org.springframework.expression.TypeComparator;
import org.springframework.expression.TypeConverter;
import org.springframework.expression.TypeLocator;
import org.springframework.expression.TypedValue;
import org.springframework.expression.spel.SpelCompilerMode;
import org.springframework.expression.spel.SpelEvaluationException;
import org.springframework.expression.spel.SpelParserConfiguration;
import org.springframework.expression.spel.ast.SpelNodeImpl;
import org.springframework.expression.spel.standard.SpelExpression;
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
		SpelExpression expression, StandardEvaluationContext delegates) {

	/** Compiled expressions would skip the checks that {@link ExpressionSyntax} adds. */
	private static final SpelParserConfiguration CONFIGURATION = new SpelParserConfiguration(SpelCompilerMode.OFF,
			null);

	/**
	 * Parse an expression.
	 * @param text the expression with placeholders resolved
	 * @throws InvalidDeclarationException if the expression cannot be parsed, has an
	 * unknown name, or changes a value
	 */
	static CallExpression parse(Use use, String text, AnnotatedMethod annotatedMethod,
			StandardEvaluationContext delegates) {
		Map<String, Integer> parameters = parameters(annotatedMethod);
		SpelExpression parsed;
		try {
			parsed = new SpelExpressionParser(CONFIGURATION).parseRaw(text);
		}
		catch (ParseException | IllegalStateException ex) {
			String name = parameters.keySet().stream().findFirst().orElse("root.methodName");
			throw annotatedMethod
				.invalid(use.attribute, text, "is no valid expression: " + ex.getMessage(),
						"Write for example " + use.example.replace("#name", "#" + name))
				.causedBy(ex);
		}
		SpelNodeImpl root = (SpelNodeImpl) parsed.getAST();
		String mistake = ExpressionSyntax.findMistake(root, parameters.keySet());
		if (mistake != null) {
			throw annotatedMethod.invalid(use.attribute, text, "has an unknown name: " + mistake,
					cure(annotatedMethod, parameters) + "; " + use.hint);
		}
		ExpressionSyntax.Missing missing = ExpressionSyntax.findMissing(root, annotatedMethod.method(), parameters);
		if (missing != null) {
			throw annotatedMethod.invalid(use.attribute, text, "has an unknown name: " + missing,
					cureOfUnknown(missing.origin()));
		}
		String assignment = ExpressionSyntax.findAssignment(root);
		if (assignment != null) {
			throw annotatedMethod.invalid(use.attribute, text, "changes something: " + assignment,
					"Write an expression that only reads, as with == for a comparison");
		}
		if (use == Use.KEY) {
			parsed = new SpelExpression(text, ExpressionSyntax.refuseNullInText(root), CONFIGURATION);
		}
		return new CallExpression(use, text, annotatedMethod, parameters, parsed, delegates);
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
			positions.put("p" + i, i);
			positions.put("a" + i, i);
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
		// In Kotlin, the receiver of an extension function has no usable name.
		return "The method's parameters are " + String.join(", ",
				parameters.keySet()
					.stream()
					.limit(named)
					.map((name) -> name.equals("$receiver") ? "#p0 for the receiver" : "#" + name)
					.toList());
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
			return this.expression.getValue(new Root(this, target, arguments));
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
							+ "only those that are registered for reflection";
				case EXCEPTION_DURING_BEAN_RESOLUTION ->
					"Write the name of a bean of this application after the @, in quotes if it has other characters than "
							+ "letters and digits";
				case COLLECTION_INDEX_OUT_OF_BOUNDS, ARRAY_INDEX_OUT_OF_BOUNDS, STRING_INDEX_OUT_OF_BOUNDS ->
					"Write what is meant if there are fewer, or refuse the call";
				default -> cure;
			};
		}
		return error.getMessage() + ". " + cure;
	}

	private static String cureOfUnknown(Member origin) {
		// Kotlin appends a hash to the names of functions with value classes.
		return origin.getName().contains("-") ? "In Kotlin, a value class is its value: write #a for #a.b"
				: "Write the name of an existing public property or method; a native image has only those that are "
						+ "registered for reflection";
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
	 * Evaluation context of a call, and its {@code #root} object. Looks arguments up by
	 * name, and shares everything else with other calls. More economical than
	 * {@code MethodBasedEvaluationContext}, which copies all arguments and knows the
	 * names of one method only, and than {@code StandardEvaluationContext}, which has a
	 * map for each call.
	 */
	public static final class Root implements EvaluationContext {

		private final CallExpression callExpression;

		private final @Nullable Object target;

		private final @Nullable Object[] args;

		Root(CallExpression callExpression, @Nullable Object target, @Nullable Object[] args) {
			this.callExpression = callExpression;
			this.target = target;
			this.args = args;
		}

		public Method getMethod() {
			return this.callExpression.annotatedMethod.method();
		}

		public @Nullable Object getTarget() {
			return this.target;
		}

		public Class<?> getTargetClass() {
			return this.callExpression.annotatedMethod.targetClass();
		}

		public @Nullable Object[] getArgs() {
			int count = this.callExpression.annotatedMethod.parameterCount();
			return (count < this.args.length) ? Arrays.copyOf(this.args, count) : this.args;
		}

		public String getMethodName() {
			return AnnotatedMethod.sourceName(getMethod());
		}

		@Override
		public TypedValue getRootObject() {
			return new TypedValue(this);
		}

		@Override
		public @Nullable Object lookupVariable(String name) {
			Integer position = this.callExpression.parameters.get(name);
			return (position != null) ? this.args[position] : null;
		}

		@Override
		public void setVariable(String name, @Nullable Object value) {
			throw new UnsupportedOperationException("An expression that assigns is refused when it is parsed");
		}

		@Override
		public List<PropertyAccessor> getPropertyAccessors() {
			return shared().getPropertyAccessors();
		}

		@Override
		public List<IndexAccessor> getIndexAccessors() {
			return shared().getIndexAccessors();
		}

		@Override
		public List<ConstructorResolver> getConstructorResolvers() {
			return shared().getConstructorResolvers();
		}

		@Override
		public List<MethodResolver> getMethodResolvers() {
			return shared().getMethodResolvers();
		}

		@Override
		public @Nullable BeanResolver getBeanResolver() {
			return shared().getBeanResolver();
		}

		@Override
		public TypeLocator getTypeLocator() {
			return shared().getTypeLocator();
		}

		@Override
		public TypeConverter getTypeConverter() {
			return shared().getTypeConverter();
		}

		@Override
		public TypeComparator getTypeComparator() {
			return shared().getTypeComparator();
		}

		@Override
		public OperatorOverloader getOperatorOverloader() {
			return shared().getOperatorOverloader();
		}

		private StandardEvaluationContext shared() {
			return this.callExpression.delegates;
		}

	}

}
