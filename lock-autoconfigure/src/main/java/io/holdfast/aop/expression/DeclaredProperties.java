package io.holdfast.aop.expression;

import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.CompoundExpression;
import org.springframework.expression.spel.ast.PropertyOrFieldReference;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.support.ReflectivePropertyAccessor;
import org.springframework.util.ClassUtils;

/**
 * Properties that expressions read, looked up by the types that are declared, before
 * there are values.
 */
public final class DeclaredProperties extends ReflectivePropertyAccessor {

	/** Find what is read as a property. */
	public @Nullable Member find(Class<?> type, String name) {
		Method getter = findGetterForProperty(name, type, false);
		return (getter != null) ? getter : findField(name, type, false);
	}

	/**
	 * Find a property that would not be there in any call, as the types of its values can
	 * have no subtypes.
	 */
	@Nullable Missing findMissing(SpelNode node, Method method, Map<String, Integer> parameters) {
		Missing missing = null;
		if (node instanceof CompoundExpression && node.getChild(0) instanceof VariableReference variable) {
			Integer position = parameters.get(variable.toStringAST().substring(1));
			missing = (position != null) ? findMissing(node, method.getParameterTypes()[position], method) : null;
		}
		for (int i = 0; missing == null && i < node.getChildCount(); i++) {
			missing = findMissing(node.getChild(i), method, parameters);
		}
		return missing;
	}

	private @Nullable Missing findMissing(SpelNode path, Class<?> start, Method method) {
		Class<?> type = start;
		Member origin = method;
		for (int i = 1; i < path.getChildCount(); i++) {
			if (!isKnown(type) || !(path.getChild(i) instanceof PropertyOrFieldReference property)) {
				return null;
			}
			Member member = find(ClassUtils.resolvePrimitiveIfNecessary(type), property.getName());
			if (member == null) {
				return new Missing(property.getName(), type, origin);
			}
			type = (member instanceof Method getter) ? getter.getReturnType() : ((Field) member).getType();
			origin = member;
		}
		return null;
	}

	/**
	 * Return whether the properties of all values of a type are known. Of an
	 * {@code Optional}, what it holds is read as well, and of a class what is static.
	 */
	private static boolean isKnown(Class<?> type) {
		return Modifier.isFinal(type.getModifiers()) && !type.isArray() && type != Optional.class
				&& type != Class.class;
	}

	/**
	 * A property that is not there.
	 *
	 * @param name its name
	 * @param type the type that does not have it
	 * @param origin what the value comes from: the method that is called, or the property
	 * before this one
	 */
	record Missing(String name, Class<?> type, Member origin) {

		@Override
		public String toString() {
			return this.name + ", which is no property of " + this.type.getTypeName();
		}

	}

}
