package io.holdfast.aop.expression;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import io.holdfast.aop.method.AnnotatedMethod;
import io.holdfast.aop.method.InvalidDeclarationException;
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
import org.springframework.expression.spel.SpelMessage;
import org.springframework.expression.spel.SpelParserConfiguration;
import org.springframework.expression.spel.ast.SpelNodeImpl;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;

/**
 * An expression in an annotation that is about the call. Parsed and checked once;
 * evaluated for each call. Thread-safe.
 */
public final class CallExpression {

	/** Compiled expressions would skip the checks that {@link ExpressionSyntax} adds. */
	private static final SpelParserConfiguration CONFIGURATION = new SpelParserConfiguration(SpelCompilerMode.OFF,
			null);

	private final Use use;

	private final String text;

	private final AnnotatedMethod<?> annotatedMethod;

	private final Map<String, Integer> parameters;

	private final SpelExpression expression;

	private final EvaluationContext delegates;

	private CallExpression(Use use, String text, AnnotatedMethod<?> annotatedMethod, Map<String, Integer> parameters,
			SpelExpression expression, EvaluationContext delegates) {
		this.use = use;
		this.text = text;
		this.annotatedMethod = annotatedMethod;
		this.parameters = parameters;
		this.expression = expression;
		this.delegates = delegates;
	}

	/**
	 * Parse an expression.
	 * @param text the expression, its placeholders resolved
	 * @throws InvalidDeclarationException if it cannot be parsed, or names what is not
	 * there
	 */
	public static CallExpression parse(Use use, String text, AnnotatedMethod<?> annotatedMethod,
			EvaluationContext delegates) {
		Map<String, Integer> parameters = parameters(annotatedMethod);
		SpelExpression parsed;
		try {
			parsed = new SpelExpressionParser(CONFIGURATION).parseRaw(text);
		}
		catch (ParseException | IllegalStateException ex) {
			throw annotatedMethod.invalid(use.attribute, text, "is no valid expression: " + ex.getMessage(),
					"Write for example " + use.example.replace("#name", "#" + example(parameters)), ex);
		}
		SpelNodeImpl root = (SpelNodeImpl) parsed.getAST();
		String mistake = ExpressionSyntax.findMistake(root, parameters.keySet());
		if (mistake != null) {
			throw annotatedMethod.invalid(use.attribute, text, "has an unknown name: " + mistake,
					cure(annotatedMethod, parameters) + "; " + use.hint, null);
		}
		DeclaredProperties.Missing missing = new DeclaredProperties().findMissing(root, annotatedMethod.method(),
				parameters);
		if (missing != null) {
			throw annotatedMethod.invalid(use.attribute, text, "has an unknown name: " + missing,
					EvaluationTrouble.cureOfUnknown(missing.origin()), null);
		}
		String assignment = ExpressionSyntax.findAssignment(root);
		if (assignment != null) {
			throw annotatedMethod.invalid(use.attribute, text, "changes something: " + assignment,
					"Write an expression that only reads, as with == for a comparison", null);
		}
		if (use == Use.KEY) {
			parsed = new SpelExpression(text, ExpressionSyntax.refuseNullInText(root), CONFIGURATION);
		}
		return new CallExpression(use, text, annotatedMethod, parameters, parsed, delegates);
	}

	/**
	 * Return the parameters that an expression can name.
	 * @return their positions, by name
	 */
	public static Map<String, Integer> parameters(AnnotatedMethod<?> annotatedMethod) {
		Map<String, Integer> positions = new LinkedHashMap<>();
		Method annotated = (annotatedMethod.source() instanceof Method source) ? source : annotatedMethod.method();
		for (Method method : List.of(annotated, annotatedMethod.method())) {
			@Nullable String @Nullable [] names = DefaultParameterNameDiscoverer.getSharedInstance().getParameterNames(method);
			for (int i = 0; names != null && i < Math.min(names.length, annotatedMethod.parameterCount()); i++) {
				String name = names[i];
				if (name != null) {
					// An interface's expression means the interface's names.
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

	private static String example(Map<String, Integer> parameters) {
		return parameters.keySet().stream().findFirst().orElse("root.methodName");
	}

	private static String cure(AnnotatedMethod<?> annotatedMethod, Map<String, Integer> parameters) {
		int count = annotatedMethod.parameterCount();
		if (count == 0) {
			return "The method has no parameters";
		}
		if (parameters.size() == 2 * count) {
			return "The names of the method's parameters are not known: compile with -parameters (in Kotlin: "
					+ "-java-parameters, or add kotlin-reflect), or write #p0 for the first parameter";
		}
		List<String> names = parameters.keySet().stream().map(CallExpression::written).toList();
		return "The method's parameters are " + String.join(", ", names.subList(0, names.size() - 2 * count));
	}

	/** The receiver of an extension function in Kotlin has a name that is none. */
	private static String written(String parameter) {
		return parameter.equals("$receiver") ? "#p0 for the receiver" : "#" + parameter;
	}

	/**
	 * Return the value that a call yields.
	 * @throws KeyText.NoTextException if something without text is made a part of a key
	 */
	@Nullable Object evaluate(@Nullable Object target, @Nullable Object[] arguments) {
		return this.expression.getValue(new Context(target, arguments));
	}

	/**
	 * Explain why a call yields no value.
	 * @param substitute what may be written for a value that is not there
	 * @return what failed and what to do, without a full stop
	 */
	String explain(EvaluationException error, String substitute) {
		return EvaluationTrouble.explain(error, substitute, this.annotatedMethod.method());
	}

	/** Says where it is declared, for messages. */
	@Override
	public String toString() {
		return this.annotatedMethod.describe(this.use.attribute, this.text);
	}

	/**
	 * The use of an expression.
	 */
	public enum Use {

		/** Gives text, or several texts. */
		KEY("key", "#name, or 'text:' + #name", "put text into quotes, or write it as name"),

		/** Gives true or false. */
		CONDITION("condition", "#name != null", "put text into quotes");

		private final String attribute;

		private final String example;

		private final String hint;

		Use(String attribute, String example, String hint) {
			this.attribute = attribute;
			this.example = example;
			this.hint = hint;
		}

	}

	/**
	 * Looks arguments up by name, and leaves all else to a context that is the same for
	 * all calls: a copy of that would be most of what a call costs.
	 */
	private final class Context implements EvaluationContext {

		private final TypedValue rootObject;

		private final @Nullable Object[] arguments;

		Context(@Nullable Object target, @Nullable Object[] arguments) {
			this.rootObject = new TypedValue(new Root(CallExpression.this.annotatedMethod, target, arguments));
			this.arguments = arguments;
		}

		@Override
		public @Nullable Object lookupVariable(String name) {
			Integer position = CallExpression.this.parameters.get(name);
			return (position != null) ? this.arguments[position] : null;
		}

		@Override
		public void setVariable(String name, @Nullable Object value) {
			throw new SpelEvaluationException(SpelMessage.VARIABLE_ASSIGNMENT_NOT_SUPPORTED, name);
		}

		@Override
		public TypedValue getRootObject() {
			return this.rootObject;
		}

		@Override
		public List<PropertyAccessor> getPropertyAccessors() {
			return CallExpression.this.delegates.getPropertyAccessors();
		}

		@Override
		public List<IndexAccessor> getIndexAccessors() {
			return CallExpression.this.delegates.getIndexAccessors();
		}

		@Override
		public List<ConstructorResolver> getConstructorResolvers() {
			return CallExpression.this.delegates.getConstructorResolvers();
		}

		@Override
		public List<MethodResolver> getMethodResolvers() {
			return CallExpression.this.delegates.getMethodResolvers();
		}

		@Override
		public @Nullable BeanResolver getBeanResolver() {
			return CallExpression.this.delegates.getBeanResolver();
		}

		@Override
		public TypeLocator getTypeLocator() {
			return CallExpression.this.delegates.getTypeLocator();
		}

		@Override
		public TypeConverter getTypeConverter() {
			return CallExpression.this.delegates.getTypeConverter();
		}

		@Override
		public TypeComparator getTypeComparator() {
			return CallExpression.this.delegates.getTypeComparator();
		}

		@Override
		public OperatorOverloader getOperatorOverloader() {
			return CallExpression.this.delegates.getOperatorOverloader();
		}

	}

	/**
	 * The object that expressions find as {@code #root}.
	 */
	public static final class Root {

		private final AnnotatedMethod<?> annotatedMethod;

		private final @Nullable Object target;

		private final @Nullable Object[] args;

		Root(AnnotatedMethod<?> annotatedMethod, @Nullable Object target, @Nullable Object[] args) {
			this.annotatedMethod = annotatedMethod;
			this.target = target;
			this.args = args;
		}

		public Method getMethod() {
			return this.annotatedMethod.method();
		}

		public @Nullable Object getTarget() {
			return this.target;
		}

		public Class<?> getTargetClass() {
			return this.annotatedMethod.targetClass();
		}

		public @Nullable Object[] getArgs() {
			int count = this.annotatedMethod.parameterCount();
			return (count < this.args.length) ? Arrays.copyOf(this.args, count) : this.args;
		}

		public String getMethodName() {
			return AnnotatedMethod.sourceName(getMethod());
		}

	}

}
