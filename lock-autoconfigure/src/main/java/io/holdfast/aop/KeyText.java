package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.Calendar;
import java.util.Collection;
import java.util.Date;
import java.util.Map;
import java.util.Optional;
import java.util.stream.BaseStream;

import kotlin.sequences.Sequence;
import org.jspecify.annotations.Nullable;

import org.springframework.core.KotlinDetector;
import org.springframework.util.ClassUtils;
import org.springframework.util.ObjectUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Converts values to texts of keys. Refuses values without a meaningful text. Does not
 * check the parts of a value: the text of a record with an array or a set may still
 * differ between JVMs.
 */
final class KeyText {

	private KeyText() {
	}

	/**
	 * Return the text of a value.
	 * @throws NoTextException if the value is null or has no text that identifies it
	 */
	static String of(@Nullable Object boxed) {
		Object value = unboxed(boxed);
		if (value == null) {
			throw new NoTextException("its value is null. Give this call a key of its own, or refuse the call");
		}
		if (value instanceof Enum<?> constant) {
			return constant.name();
		}
		if (value instanceof Optional<?>) {
			throw noText(value, "is not text. Write what it holds, for example with .orElse('none')");
		}
		if (isTextLike(value)) {
			throw noText(value, "is not text. Write what makes text of it");
		}
		if (value.getClass().isArray() || value instanceof Iterable<?> || value instanceof Map<?, ?>) {
			throw noText(value,
					"holds several values, and a key is one. Write an expression for the one that is meant; "
							+ "a lock may also be on all values of a collection or an array");
		}
		if (value instanceof BaseStream<?, ?> || (KotlinDetector.isKotlinPresent() && value instanceof Sequence<?>)) {
			throw noText(value, "holds several values, which a key would use up. Write a List as parameter, which the "
					+ "caller makes by toList()");
		}
		String zoneless = zoneless(value);
		if (zoneless != null) {
			throw noText(value, "has a text that depends on the time zone. Write ." + zoneless);
		}
		String text = value.toString();
		if (text == null || isIdentity(text, value.getClass())) {
			throw noText(value,
					"has no text of its own (no toString method). Write the property that identifies it, for "
							+ "example .id");
		}
		return text;
	}

	private static NoTextException noText(Object value, String problem) {
		return new NoTextException("a value of type " + value.getClass().getTypeName() + " " + problem);
	}

	/**
	 * Return the value inside a Kotlin value class. A parameter of a non-null value class
	 * is already unboxed, and both forms must have the same text.
	 * @return the inner value, or the given value if it is no value class
	 */
	private static @Nullable Object unboxed(@Nullable Object value) {
		Method unbox = (value != null && KotlinDetector.isKotlinType(value.getClass()))
				? ReflectionUtils.findMethod(value.getClass(), "unbox-impl") : null;
		if (unbox == null) {
			return value;
		}
		ReflectionUtils.makeAccessible(unbox);
		return unboxed(ReflectionUtils.invokeMethod(unbox, value));
	}

	/**
	 * Return the elements of a collection or an array. Arrays of characters or bytes are
	 * not split.
	 * @return the elements, or {@code null} if the value is not split
	 */
	static @Nullable Object @Nullable [] split(@Nullable Object boxed) {
		Object value = unboxed(boxed);
		if (value instanceof Collection<?> collection) {
			return collection.toArray();
		}
		boolean array = value != null && value.getClass().isArray() && !isTextLike(value);
		return array ? ObjectUtils.toObjectArray(value) : null;
	}

	/**
	 * Return whether a value is an array of characters or bytes, whose elements are no
	 * keys.
	 */
	private static boolean isTextLike(Object value) {
		return value instanceof char[] || value instanceof byte[];
	}

	/**
	 * Return the method that converts a value to a type without a time zone, or
	 * {@code null} if the text of the value does not depend on the time zone.
	 */
	private static @Nullable String zoneless(Object value) {
		if (value instanceof Calendar) {
			return "toInstant()";
		}
		if (!(value instanceof Date)) {
			return null;
		}
		// By name, as java.sql may be absent. Date and Time of java.sql have no
		// toInstant.
		Class<?> type = value.getClass();
		if (ClassUtils.hasMethod(type, "toLocalDate")) {
			return "toLocalDate()";
		}
		return ClassUtils.hasMethod(type, "toLocalTime") ? "toLocalTime()" : "toInstant()";
	}

	/**
	 * Return whether a text is that of {@code Object.toString()}, also through a proxy.
	 */
	private static boolean isIdentity(String text, Class<?> type) {
		for (Class<?> c = type; c != null; c = c.getSuperclass()) {
			String name = c.getName();
			// Without concatenation, as this runs for each call.
			if (text.startsWith(name) && text.startsWith("@", name.length())) {
				return true;
			}
		}
		return false;
	}

	/**
	 * Thrown when no text identifies a value.
	 */
	static final class NoTextException extends RuntimeException {

		private static final long serialVersionUID = 1L;

		NoTextException(String message) {
			super(message);
		}

	}

}
