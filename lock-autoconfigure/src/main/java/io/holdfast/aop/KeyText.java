package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.Collection;
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
 * The text of a value, if it has one that is the same for equal values in all instances.
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
			throw new NoTextException(
					type(value) + " is not text. Write what it holds, for example with .orElse('none')");
		}
		if (isTextLike(value)) {
			throw new NoTextException(type(value) + " is not text. Write what makes text of it");
		}
		if (value.getClass().isArray() || value instanceof Iterable<?> || value instanceof Map<?, ?>) {
			throw new NoTextException(type(value) + " holds several values, and a key is one. Write an expression "
					+ "for the one that is meant; a lock may also be on all values of a collection or an array");
		}
		if (value instanceof BaseStream<?, ?> || isSequence(value)) {
			throw new NoTextException(type(value) + " holds several values, which a key would use up. Write a List as "
					+ "parameter, which the caller makes by toList()");
		}
		String zoneless = UnstableText.zoneless(value);
		if (zoneless != null) {
			throw new NoTextException(type(value) + " has a text that depends on the time zone. Write ." + zoneless);
		}
		String text = value.toString();
		if (text == null || UnstableText.isIdentity(text, value.getClass())) {
			throw new NoTextException(type(value) + " has no text of its own (no toString method). Write the property "
					+ "that identifies it, for example .id");
		}
		if (!ClassUtils.isSimpleValueType(value.getClass())) {
			String unstable = UnstableText.find(value, text);
			if (unstable != null) {
				throw new NoTextException(type(value) + " " + unstable);
			}
		}
		return text;
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

	/** Applications may be without Kotlin. */
	private static boolean isSequence(Object value) {
		return KotlinDetector.isKotlinPresent() && value instanceof Sequence<?>;
	}

	private static String type(Object value) {
		return "a value of type " + value.getClass().getTypeName();
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
