package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.SpelCompilerMode;
import org.springframework.expression.spel.SpelParserConfiguration;
import org.springframework.expression.spel.ast.SpelNodeImpl;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.StandardEvaluationContext;

/**
 * The expression in an annotation that says what a call needs. Parsed and checked once;
 * evaluated for each call. Thread-safe.
 */
final class KeyExpression {

	/** Compiled expressions would skip the checks that {@link KeySyntax} adds. */
	private static final SpelParserConfiguration CONFIGURATION = new SpelParserConfiguration(SpelCompilerMode.OFF,
			null);

	private final String attribute;

	private final String text;

	private final Declaration<?> declaration;

	private final Map<String, Integer> parameters;

	private final SpelExpression expression;

	private final StandardEvaluationContext delegates;

	private KeyExpression(String attribute, String text, Declaration<?> declaration, Map<String, Integer> parameters,
			SpelExpression expression, StandardEvaluationContext delegates) {
		this.attribute = attribute;
		this.text = text;
		this.declaration = declaration;
		this.parameters = parameters;
		this.expression = expression;
		this.delegates = delegates;
	}

	/**
	 * Parse an expression.
	 * @param attribute the attribute that holds it
	 * @param text the expression, its placeholders resolved
	 * @param declaration where it is declared
	 * @param delegates how beans and types are found
	 * @return the expression
	 * @throws InvalidDeclarationException if it cannot be parsed, or names what is not
	 * there
	 */
	static KeyExpression parse(String attribute, String text, Declaration<?> declaration,
			StandardEvaluationContext delegates) {
		Map<String, Integer> parameters = parameters(declaration);
		SpelExpression parsed;
		try {
			parsed = new SpelExpressionParser(CONFIGURATION).parseRaw(text);
		}
		catch (ParseException | IllegalStateException ex) {
			throw declaration.invalid(attribute, text, "is no valid expression: " + ex.getMessage(),
					"Write for example #" + example(parameters) + ", or 'text:' + #" + example(parameters), ex);
		}
		SpelNodeImpl root = (SpelNodeImpl) parsed.getAST();
		String mistake = KeySyntax.findMistake(root, parameters.keySet());
		if (mistake != null) {
			throw declaration.invalid(attribute, text, "has an unknown name: " + mistake, cure(declaration, parameters),
					null);
		}
		SpelExpression strict = new SpelExpression(text, KeySyntax.refuseNullInText(root), CONFIGURATION);
		return new KeyExpression(attribute, text, declaration, parameters, strict, delegates);
	}

	private static Map<String, Integer> parameters(Declaration<?> declaration) {
		Map<String, Integer> positions = new LinkedHashMap<>();
		Method annotated = (declaration.source() instanceof Method source) ? source : declaration.method();
		for (Method method : List.of(annotated, declaration.method())) {
			@Nullable String @Nullable [] names = DefaultParameterNameDiscoverer.getSharedInstance().getParameterNames(method);
			for (int i = 0; names != null && i < names.length; i++) {
				String name = names[i];
				if (name != null) {
					// An interface's expression means the interface's names.
					positions.putIfAbsent(name, i);
				}
			}
		}
		for (int i = 0; i < declaration.method().getParameterCount(); i++) {
			positions.put("p" + i, i);
			positions.put("a" + i, i);
		}
		return positions;
	}

	private static String example(Map<String, Integer> parameters) {
		return parameters.keySet().stream().findFirst().orElse("root.methodName");
	}

	private static String cure(Declaration<?> declaration, Map<String, Integer> parameters) {
		int count = declaration.method().getParameterCount();
		if (count == 0) {
			return "The method has no parameters; put text into quotes, or write it as name";
		}
		if (parameters.size() == 2 * count) {
			return "The names of the method's parameters are not known: compile with -parameters, or write #p0 for the "
					+ "first parameter; put text into quotes, or write it as name";
		}
		List<String> names = parameters.keySet().stream().map((name) -> "#" + name).toList();
		return "The method's parameters are " + String.join(", ", names.subList(0, names.size() - 2 * count))
				+ "; put text into quotes, or write it as name";
	}

	/**
	 * The text that a call yields.
	 * @param target the object that is called
	 * @param arguments the arguments
	 * @return the text, not blank
	 * @throws IllegalArgumentException if the value is blank, or null, or not fit for a
	 * key; also if the expression fails
	 */
	String evaluate(@Nullable Object target, @Nullable Object[] arguments) {
		Root root = new Root(this.declaration, target, arguments);
		Object value;
		String result;
		try {
			value = this.expression.getValue(new Context(root, this.parameters, this.delegates));
			result = KeyText.of(value);
		}
		catch (EvaluationException | KeyText.NoTextException ex) {
			throw new IllegalArgumentException(this + " yields no key: " + ex.getMessage(), ex);
		}
		if (result.isBlank()) {
			throw new IllegalArgumentException(
					this + " yields no key: its value is blank. Give this call a key of its own, or refuse the call");
		}
		return result;
	}

	/** Says where it is declared, for messages. */
	@Override
	public String toString() {
		return this.declaration.describe(this.attribute, this.text);
	}

	/**
	 * Looks arguments up by name without copying them for each call.
	 */
	private static final class Context extends StandardEvaluationContext {

		private final @Nullable Object[] arguments;

		private final Map<String, Integer> parameters;

		Context(Root root, Map<String, Integer> parameters, StandardEvaluationContext delegates) {
			super(root);
			this.arguments = root.args;
			this.parameters = parameters;
			delegates.applyDelegatesTo(this);
		}

		@Override
		public @Nullable Object lookupVariable(String name) {
			Integer position = this.parameters.get(name);
			return (position != null) ? this.arguments[position] : super.lookupVariable(name);
		}

	}

	/**
	 * What expressions find as {@code #root}.
	 */
	static final class Root {

		private final Declaration<?> declaration;

		private final @Nullable Object target;

		private final @Nullable Object[] args;

		Root(Declaration<?> declaration, @Nullable Object target, @Nullable Object[] args) {
			this.declaration = declaration;
			this.target = target;
			this.args = args;
		}

		public Method getMethod() {
			return this.declaration.method();
		}

		public @Nullable Object getTarget() {
			return this.target;
		}

		public Class<?> getTargetClass() {
			return this.declaration.targetClass();
		}

		public @Nullable Object[] getArgs() {
			return this.args;
		}

		public String getMethodName() {
			return this.declaration.method().getName();
		}

	}

}
