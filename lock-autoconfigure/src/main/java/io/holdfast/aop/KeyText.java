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
 * The text of a value, if the value has one of its own. Its parts are not looked at: a
 * record with an array, or with a set whose order differs between JVMs, is taken at its
 * word.
 */
final class KeyText {

	private KeyText() {
	}

	/**
	 * Return the text of a value.
	 * @throws NoTextException if it is null or has no text that stands for it
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
	 * Return the value in a value class of Kotlin. Where its type may not be null, a
	 * parameter has that itself, and the same value is to give the same text everywhere.
	 * @return the value, or itself
	 */
	static @Nullable Object unboxed(@Nullable Object value) {
		Method unbox = (value != null && KotlinDetector.isKotlinType(value.getClass()))
				? ReflectionUtils.findMethod(value.getClass(), "unbox-impl") : null;
		if (unbox == null) {
			return value;
		}
		ReflectionUtils.makeAccessible(unbox);
		return unboxed(ReflectionUtils.invokeMethod(unbox, value));
	}

	/**
	 * Return the values of a collection or an array, but not of one that is text in
	 * itself.
	 * @return the values, or {@code null} if it is something else
	 */
	static @Nullable Object @Nullable [] split(@Nullable Object value) {
		if (value instanceof Collection<?> collection) {
			return collection.toArray();
		}
		boolean array = value != null && value.getClass().isArray() && !isTextLike(value);
		return array ? ObjectUtils.toObjectArray(value) : null;
	}

	/** Each of their values alone would mean nothing. */
	private static boolean isTextLike(Object value) {
		return value instanceof char[] || value instanceof byte[];
	}

	/** Return the method that gives a text without a time zone, if a value needs one. */
	private static @Nullable String zoneless(Object value) {
		if (value instanceof Calendar) {
			return "toInstant()";
		}
		if (!(value instanceof Date)) {
			return null;
		}
		// By name, as java.sql need not be there. Its Date and Time have no toInstant.
		Class<?> type = value.getClass();
		if (ClassUtils.hasMethod(type, "toLocalDate")) {
			return "toLocalDate()";
		}
		return ClassUtils.hasMethod(type, "toLocalTime") ? "toLocalTime()" : "toInstant()";
	}

	/**
	 * Return whether the text begins as that of {@code Object}, here or behind a proxy.
	 */
	private static boolean isIdentity(String text, Class<?> type) {
		for (Class<?> c = type; c != null; c = c.getSuperclass()) {
			String name = c.getName();
			// Not put together with the @, as this is done for each call.
			if (text.startsWith(name) && text.startsWith("@", name.length())) {
				return true;
			}
		}
		return false;
	}

	/**
	 * There is no text that stands for a value.
	 */
	static final class NoTextException extends RuntimeException {

		private static final long serialVersionUID = 1L;

		NoTextException(String message) {
			super(message);
		}

	}

}
