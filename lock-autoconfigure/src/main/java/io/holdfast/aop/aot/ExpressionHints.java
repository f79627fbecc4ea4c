package io.holdfast.aop.aot;

import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Stream;

import io.holdfast.aop.expression.DeclaredProperties;
import org.jspecify.annotations.Nullable;

import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.core.KotlinDetector;
import org.springframework.core.ResolvableType;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.TypeLocator;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.BeanReference;
import org.springframework.expression.spel.ast.CompoundExpression;
import org.springframework.expression.spel.ast.ConstructorReference;
import org.springframework.expression.spel.ast.Elvis;
import org.springframework.expression.spel.ast.Indexer;
import org.springframework.expression.spel.ast.InlineList;
import org.springframework.expression.spel.ast.MethodReference;
import org.springframework.expression.spel.ast.Projection;
import org.springframework.expression.spel.ast.PropertyOrFieldReference;
import org.springframework.expression.spel.ast.Selection;
import org.springframework.expression.spel.ast.StringLiteral;
import org.springframework.expression.spel.ast.Ternary;
import org.springframework.expression.spel.ast.TypeReference;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.util.ReflectionUtils;

/**
 * Registers what an expression reads by reflection: the members of the types that are
 * declared along its way, from parameter to property to property. What a value has beyond
 * its declared type cannot be known ahead of time.
 */
final class ExpressionHints {

	private static final ResolvableType UNKNOWN = ResolvableType.NONE;

	private final Map<String, ResolvableType> variables;

	private final ResolvableType root;

	private final Function<String, @Nullable Class<?>> beans;

	private final TypeLocator types;

	private final ReflectionHints hints;

	private final DeclaredProperties properties = new DeclaredProperties();

	/**
	 * Create it.
	 * @param beans gives the type of a bean, or {@code null} if it is not known
	 */
	ExpressionHints(ResolvableType root, Map<String, ResolvableType> variables,
			Function<String, @Nullable Class<?>> beans, TypeLocator types, ReflectionHints hints) {
		this.root = root;
		this.variables = variables;
		this.beans = beans;
		this.types = types;
		this.hints = hints;
	}

	/** Register what an expression reads. */
	void register(SpelNode expression) {
		visit(expression, this.root);
	}

	/**
	 * Visit a part of the expression.
	 * @param active what its names are of
	 */
	private ResolvableType visit(SpelNode node, ResolvableType active) {
		if (node instanceof CompoundExpression) {
			ResolvableType type = active;
			for (int i = 0; i < node.getChildCount(); i++) {
				type = visit(node.getChild(i), type);
			}
			return type;
		}
		if (node instanceof VariableReference) {
			return variable(node.toStringAST().substring(1), active);
		}
		if (node instanceof PropertyOrFieldReference property) {
			return property(active.toClass(), property.getName(), active);
		}
		if (node instanceof MethodReference method) {
			visitChildren(node, this.root);
			return method(active.toClass(), method.getName(), node.getChildCount(), active);
		}
		if (node instanceof BeanReference bean) {
			return ResolvableType.forClass(this.beans.apply(bean.getName()));
		}
		if (node instanceof TypeReference) {
			return type(node.getChild(0).toStringAST());
		}
		if (node instanceof ConstructorReference) {
			visitChildren(node, this.root);
			return type(node.getChild(0).toStringAST(), MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS);
		}
		return ofValues(node, active);
	}

	/** Return the type of a node that reads nothing itself. */
	private ResolvableType ofValues(SpelNode node, ResolvableType active) {
		if (node instanceof Indexer) {
			visitChildren(node, this.root);
			return element(active);
		}
		if (node instanceof Projection) {
			return list(visitChildren(node, element(active)));
		}
		if (node instanceof Selection) {
			visitChildren(node, element(active));
			return active;
		}
		ResolvableType last = visitChildren(node, active);
		if (node instanceof InlineList) {
			return list(last);
		}
		if (node instanceof StringLiteral) {
			return ResolvableType.forClass(String.class);
		}
		boolean choice = node instanceof Ternary || node instanceof Elvis;
		return choice ? last : UNKNOWN;
	}

	private ResolvableType visitChildren(SpelNode node, ResolvableType active) {
		ResolvableType last = UNKNOWN;
		for (int i = 0; i < node.getChildCount(); i++) {
			last = visit(node.getChild(i), active);
		}
		return last;
	}

	private ResolvableType variable(String name, ResolvableType active) {
		return switch (name) {
			case "root" -> this.root;
			case "this" -> active;
			default -> unboxed(this.variables.getOrDefault(name, UNKNOWN));
		};
	}

	private ResolvableType property(Class<?> owner, String name, ResolvableType active) {
		Member member = this.properties.find(owner, name);
		if (member instanceof Method getter) {
			return read(getter, active);
		}
		if (member instanceof Field field) {
			this.hints.registerField(field);
			return ResolvableType.forField(field, active);
		}
		return UNKNOWN;
	}

	/** Register all overloads, as the values decide which one is meant. */
	private ResolvableType method(Class<?> owner, String name, int arguments, ResolvableType active) {
		return methods(owner, name, arguments).map((method) -> read(method, active))
			.toList()
			.stream()
			.findFirst()
			.orElse(UNKNOWN);
	}

	private static Stream<Method> methods(Class<?> owner, String name, int arguments) {
		return Stream.of(owner.getMethods())
			.filter((method) -> method.getName().equals(name) && !method.isBridge()
					&& (method.isVarArgs() || method.getParameterCount() == arguments));
	}

	private ResolvableType read(Method method, ResolvableType active) {
		this.hints.registerMethod(method, ExecutableMode.INVOKE);
		return unboxed(ResolvableType.forType(method.getGenericReturnType(), active));
	}

	/** Register what a key needs of a value class of Kotlin, also as element. */
	private ResolvableType unboxed(ResolvableType type) {
		Stream.concat(Stream.of(type), Stream.of(type.getGenerics()))
			.map((value) -> KotlinDetector.isKotlinType(value.toClass())
					? ReflectionUtils.findMethod(value.toClass(), "unbox-impl") : null)
			.filter(Objects::nonNull)
			.forEach((method) -> this.hints.registerMethod(method, ExecutableMode.INVOKE));
		return type;
	}

	private ResolvableType type(String name, MemberCategory... categories) {
		try {
			Class<?> type = this.types.findType(name);
			this.hints.registerType(type, categories);
			return ResolvableType.forClass(type);
		}
		catch (EvaluationException ex) {
			// The call will say so.
			return UNKNOWN;
		}
	}

	private static ResolvableType element(ResolvableType type) {
		if (type.isArray()) {
			return type.getComponentType();
		}
		if (Map.class.isAssignableFrom(type.toClass())) {
			return type.asMap().getGeneric(1);
		}
		return Collection.class.isAssignableFrom(type.toClass()) ? type.as(Iterable.class).getGeneric(0) : UNKNOWN;
	}

	private static ResolvableType list(ResolvableType element) {
		return ResolvableType.forClassWithGenerics(List.class, element);
	}

}
