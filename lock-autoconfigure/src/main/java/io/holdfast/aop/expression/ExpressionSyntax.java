package io.holdfast.aop.expression;

import java.util.Set;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;

import org.springframework.expression.TypedValue;
import org.springframework.expression.spel.ExpressionState;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.Assign;
import org.springframework.expression.spel.ast.CompoundExpression;
import org.springframework.expression.spel.ast.Elvis;
import org.springframework.expression.spel.ast.InlineList;
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

/**
 * Rules for expressions beyond those of the language.
 */
final class ExpressionSyntax {

	private static final Set<String> ROOT_PROPERTIES = Set.of("method", "target", "targetClass", "args", "methodName");

	private ExpressionSyntax() {
	}

	/** Find a name that means nothing, and would yield null or an error in every call. */
	static @Nullable String findMistake(SpelNode root, Set<String> parameters) {
		String mistake = findUnknownProperty(root);
		return (mistake != null) ? mistake : findUnknownVariable(root, parameters);
	}

	/** Find what would change an argument of the call, or something that others see. */
	static @Nullable String findAssignment(SpelNode node) {
		if (node instanceof Assign || node instanceof OpInc || node instanceof OpDec) {
			return node.toStringAST();
		}
		for (int i = 0; i < node.getChildCount(); i++) {
			String assignment = findAssignment(node.getChild(i));
			if (assignment != null) {
				return assignment;
			}
		}
		return null;
	}

	/** Finds forgotten quotes and hashes: {@code stock}, {@code sku}. */
	private static @Nullable String findUnknownProperty(SpelNode node) {
		if (node instanceof PropertyOrFieldReference property) {
			return ROOT_PROPERTIES.contains(property.getName()) ? null : property.getName();
		}
		if (node instanceof CompoundExpression) {
			return findUnknownProperty(node.getChild(0));
		}
		if (isTransparent(node)) {
			for (int i = 0; i < node.getChildCount(); i++) {
				String mistake = findUnknownProperty(node.getChild(i));
				if (mistake != null) {
					return mistake;
				}
			}
		}
		return null;
	}

	/** Return whether names in the parts of an expression mean the same as in itself. */
	private static boolean isTransparent(SpelNode node) {
		return node instanceof Operator || node instanceof OperatorNot || node instanceof Ternary
				|| node instanceof Elvis || node instanceof InlineList;
	}

	private static @Nullable String findUnknownVariable(SpelNode node, Set<String> parameters) {
		if (node instanceof VariableReference) {
			String variable = node.toStringAST();
			String name = variable.substring(1);
			return (!isArgument(name) || parameters.contains(name)) ? null : variable;
		}
		for (int i = 0; i < node.getChildCount(); i++) {
			String mistake = findUnknownVariable(node.getChild(i), parameters);
			if (mistake != null) {
				return mistake;
			}
		}
		return null;
	}

	/** Or else one of the language's own. */
	private static boolean isArgument(String variable) {
		return !variable.equals("root") && !variable.equals("this");
	}

	/**
	 * Change an expression so that {@code +} refuses null: the language would append the
	 * text "null", and all calls without a value would share one key. What is appended
	 * gets its text as a whole key would.
	 */
	static SpelNodeImpl refuseNullInText(SpelNodeImpl node) {
		int start = node.getStartPosition();
		int end = node.getEndPosition();
		if (node.getClass() == VariableReference.class) {
			String name = node.toStringAST().substring(1);
			return isArgument(name) ? new Argument(name, start, end) : node;
		}
		if (node instanceof OpPlus && node.getChildCount() == 2) {
			return new OpPlus(start, end, operand(child(node, 0)), operand(child(node, 1)));
		}
		if (node instanceof Ternary) {
			return new Ternary(start, end, child(node, 0), child(node, 1), child(node, 2));
		}
		if (node instanceof Elvis) {
			return new Elvis(start, end, child(node, 0), child(node, 1));
		}
		if (node instanceof InlineList) {
			return new InlineList(start, end, children(node));
		}
		if (node instanceof Projection projection) {
			return new Projection(projection.isNullSafe(), start, end, child(node, 0));
		}
		if (node instanceof CompoundExpression) {
			return new CompoundExpression(start, end, children(node));
		}
		if (node instanceof MethodReference method) {
			return new MethodReference(method.isNullSafe(), method.getName(), start, end, children(node));
		}
		return node;
	}

	/** Return a side of a {@code +}; what is written as text needs no check. */
	private static SpelNodeImpl operand(SpelNodeImpl node) {
		return (node instanceof StringLiteral) ? node : new Operand(node);
	}

	private static SpelNodeImpl[] children(SpelNodeImpl node) {
		return IntStream.range(0, node.getChildCount())
			.mapToObj((index) -> child(node, index))
			.toArray(SpelNodeImpl[]::new);
	}

	private static SpelNodeImpl child(SpelNodeImpl node, int index) {
		return refuseNullInText((SpelNodeImpl) node.getChild(index));
	}

	/**
	 * An argument of the call. The language's own also works out the name of its type
	 * each time, for a compiler that is not used.
	 */
	private static final class Argument extends VariableReference {

		private final String name;

		Argument(String name, int start, int end) {
			super(name, start, end);
			this.name = name;
		}

		@Override
		public TypedValue getValueInternal(ExpressionState state) {
			return state.lookupVariable(this.name);
		}

	}

	/**
	 * One side of a {@code +}.
	 */
	private static final class Operand extends SpelNodeImpl {

		Operand(SpelNodeImpl node) {
			super(node.getStartPosition(), node.getEndPosition(), node);
		}

		@Override
		public TypedValue getValueInternal(ExpressionState state) {
			SpelNode node = getChild(0);
			TypedValue value = ((SpelNodeImpl) node).getTypedValue(state);
			Object object = value.getValue();
			if (object == null) {
				throw new KeyText.NoTextException(node.toStringAST() + " is null. Give this call a key of its own, "
						+ "as in (" + node.toStringAST() + " ?: 'none'), or refuse the call");
			}
			// Numbers stay numbers: they may be meant to be added.
			return (object instanceof String || object instanceof Number) ? value : new TypedValue(KeyText.of(object));
		}

		@Override
		public String toStringAST() {
			return getChild(0).toStringAST();
		}

	}

}
