package io.holdfast.aop;

import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;

import org.springframework.expression.TypedValue;
import org.springframework.expression.spel.ExpressionState;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.Assign;
import org.springframework.expression.spel.ast.CompoundExpression;
import org.springframework.expression.spel.ast.ConstructorReference;
import org.springframework.expression.spel.ast.Elvis;
import org.springframework.expression.spel.ast.Indexer;
import org.springframework.expression.spel.ast.InlineList;
import org.springframework.expression.spel.ast.InlineMap;
import org.springframework.expression.spel.ast.MethodReference;
import org.springframework.expression.spel.ast.OpDec;
import org.springframework.expression.spel.ast.OpInc;
import org.springframework.expression.spel.ast.OpPlus;
import org.springframework.expression.spel.ast.Operator;
import org.springframework.expression.spel.ast.OperatorNot;
import org.springframework.expression.spel.ast.Projection;
import org.springframework.expression.spel.ast.PropertyOrFieldReference;
import org.springframework.expression.spel.ast.SpelNodeImpl;
import org.springframework.expression.spel.ast.StringLiteral;
import org.springframework.expression.spel.ast.Ternary;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.support.ReflectivePropertyAccessor;
import org.springframework.util.ClassUtils;

/**
 * Checks and changes of expressions beyond those of the Spring Expression Language.
 */
final class ExpressionSyntax {

	private static final Set<String> ROOT_PROPERTIES = Set.of("method", "target", "targetClass", "args", "methodName");

	/** Variables of the Spring Expression Language. */
	private static final Set<String> OWN_VARIABLES = Set.of("root", "this");

	private ExpressionSyntax() {
	}

	/** Find an unknown name, which would yield null or an error in every call. */
	static @Nullable String findMistake(SpelNode root, Set<String> parameters) {
		String mistake = findUnknownProperty(root);
		return (mistake != null) ? mistake : find(root,
				(node) -> (node instanceof VariableReference && !isCall(node) && !parameters.contains(name(node)))
						? node.toStringAST() : null);
	}

	/**
	 * Find a part of the expression that changes a value.
	 */
	static @Nullable String findAssignment(SpelNode root) {
		return find(root, (node) -> (node instanceof Assign || node instanceof OpInc || node instanceof OpDec)
				? node.toStringAST() : null);
	}

	/**
	 * Find a property that no call can have, because the type of its owner is final.
	 */
	static @Nullable Missing findMissing(SpelNode root, Method method, Map<String, Integer> parameters) {
		return find(root, (node) -> {
			Integer position = (node instanceof CompoundExpression
					&& node.getChild(0) instanceof VariableReference variable) ? parameters.get(name(variable)) : null;
			return (position != null) ? findMissing(node, method.getParameterTypes()[position], method) : null;
		});
	}

	private static <T> @Nullable T find(SpelNode node, Function<SpelNode, @Nullable T> search) {
		T found = search.apply(node);
		for (int i = 0; found == null && i < node.getChildCount(); i++) {
			found = find(node.getChild(i), search);
		}
		return found;
	}

	/**
	 * Find an unknown property, which is usually a missing quote or hash: {@code stock},
	 * {@code sku}.
	 */
	private static @Nullable String findUnknownProperty(SpelNode node) {
		if (node instanceof PropertyOrFieldReference property) {
			return ROOT_PROPERTIES.contains(property.getName()) ? null : property.getName();
		}
		if (isCall(node)) {
			// Its text would differ from call to call. The variable hides a parameter of
			// this name.
			return node.toStringAST() + ", which is the call itself";
		}
		if (node instanceof CompoundExpression && isCall(node.getChild(0))) {
			SpelNode property = node.getChild(1);
			return (property instanceof PropertyOrFieldReference) ? findUnknownProperty(property) : null;
		}
		// In the children of other nodes, names refer to another object.
		boolean transparent = node instanceof Operator || node instanceof OperatorNot || node instanceof Ternary
				|| node instanceof Elvis || node instanceof InlineList;
		int children = transparent ? node.getChildCount() : (node instanceof CompoundExpression) ? 1 : 0;
		String mistake = null;
		for (int i = 0; mistake == null && i < children; i++) {
			mistake = findUnknownProperty(node.getChild(i));
		}
		return mistake;
	}

	private static boolean isCall(SpelNode node) {
		return node instanceof VariableReference && OWN_VARIABLES.contains(name(node));
	}

	/** Return the name of a variable, without its hash. */
	private static String name(SpelNode variable) {
		return variable.toStringAST().substring(1);
	}

	private static @Nullable Missing findMissing(SpelNode path, Class<?> start, Method method) {
		Class<?> type = start;
		Member origin = method;
		for (int i = 1; i < path.getChildCount(); i++) {
			if (!isKnown(type) || !(path.getChild(i) instanceof PropertyOrFieldReference property)) {
				return null;
			}
			Member member = property(ClassUtils.resolvePrimitiveIfNecessary(type), property.getName());
			if (member == null) {
				return new Missing(property.getName() + ", which is no property of " + type.getTypeName(), origin);
			}
			type = (member instanceof Method getter) ? getter.getReturnType() : ((Field) member).getType();
			origin = member;
		}
		return null;
	}

	/**
	 * Return whether the type of a value determines its properties. Not so for
	 * {@code Optional}, whose value's properties are read, too, nor for {@code Class},
	 * whose static properties are read.
	 */
	private static boolean isKnown(Class<?> type) {
		return Modifier.isFinal(type.getModifiers()) && !type.isArray() && type != Optional.class
				&& type != Class.class;
	}

	/**
	 * Return the method or field that is read for a property of a type, or {@code null}.
	 */
	static @Nullable Member property(Class<?> type, String name) {
		// Not shared: Spring's accessor keeps each type, and thereby its class loader.
		return new Properties().find(type, name);
	}

	/**
	 * Change an expression so that {@code +} refuses null. Otherwise Spring appends the
	 * text "null", and all calls without a value share one key. Other operands are
	 * converted to text like a whole key.
	 */
	static SpelNodeImpl refuseNullInText(SpelNodeImpl node) {
		int start = node.getStartPosition();
		int end = node.getEndPosition();
		if (node instanceof OpPlus && node.getChildCount() == 2) {
			SpelNodeImpl[] sides = children(node);
			return new OpPlus(start, end, operand(sides[0]), operand(sides[1]));
		}
		if (node instanceof Ternary) {
			return new Ternary(start, end, children(node));
		}
		if (node instanceof Elvis) {
			return new Elvis(start, end, children(node));
		}
		if (node instanceof InlineList) {
			return new InlineList(start, end, children(node));
		}
		if (node instanceof InlineMap) {
			return new InlineMap(start, end, children(node));
		}
		if (node instanceof Indexer indexer) {
			return new Indexer(indexer.isNullSafe(), start, end, children(node)[0]);
		}
		if (node instanceof ConstructorReference && node.getChildCount() > 1) {
			// An array with elements needs no size.
			return node.toStringAST().endsWith("}")
					? new ConstructorReference(start, end, new SpelNodeImpl[1], children(node))
					: new ConstructorReference(start, end, children(node));
		}
		if (node instanceof Projection projection) {
			return new Projection(projection.isNullSafe(), start, end, children(node)[0]);
		}
		if (node instanceof CompoundExpression) {
			return new CompoundExpression(start, end, children(node));
		}
		if (node instanceof MethodReference method) {
			return new MethodReference(method.isNullSafe(), method.getName(), start, end, children(node));
		}
		return node;
	}

	private static SpelNodeImpl[] children(SpelNodeImpl node) {
		return IntStream.range(0, node.getChildCount())
			.mapToObj((index) -> refuseNullInText((SpelNodeImpl) node.getChild(index)))
			.toArray(SpelNodeImpl[]::new);
	}

	/** Return the operand of a {@code +}. Literals need no check. */
	private static SpelNodeImpl operand(SpelNodeImpl node) {
		return (node instanceof StringLiteral) ? node : new Operand(node);
	}

	/**
	 * A missing property.
	 *
	 * @param text the name of the property, and the type without the property
	 * @param origin the origin of the value: the called method, or the previous property
	 */
	record Missing(String text, Member origin) {

	}

	/** Finds properties as Spring does, but without values. */
	private static final class Properties extends ReflectivePropertyAccessor {

		@Nullable Member find(Class<?> type, String name) {
			Method getter = findGetterForProperty(name, type, false);
			return (getter != null) ? getter : findField(name, type, false);
		}

	}

	/**
	 * Operand of a {@code +}.
	 */
	private static final class Operand extends SpelNodeImpl {

		Operand(SpelNodeImpl node) {
			super(node.getStartPosition(), node.getEndPosition(), node);
		}

		@Override
		public TypedValue getValueInternal(ExpressionState state) {
			SpelNodeImpl node = (SpelNodeImpl) getChild(0);
			TypedValue value = node.getTypedValue(state);
			Object object = value.getValue();
			if (object == null) {
				throw new KeyText.NoTextException(node.toStringAST() + " is null. Give this call a key of its own, "
						+ "as in (" + node.toStringAST() + " ?: 'none'), or refuse the call");
			}
			// Numbers stay numbers, so that they can be added.
			return (object instanceof String || object instanceof Number) ? value : new TypedValue(KeyText.of(object));
		}

		@Override
		public String toStringAST() {
			return getChild(0).toStringAST();
		}

	}

}
