package io.holdfast.aop;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.util.ArrayDeque;
import java.util.Calendar;
import java.util.Collection;
import java.util.Collections;
import java.util.Date;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.BaseStream;
import java.util.stream.Stream;

import kotlin.sequences.Sequence;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.AopProxyUtils;
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
		String unstable = ClassUtils.isSimpleValueType(value.getClass()) ? null : PartSearch.find(value, text);
		if (unstable != null) {
			throw noText(value, unstable);
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
	static @Nullable String zoneless(Object value) {
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
	static boolean isIdentity(String text, Class<?> type) {
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

	/**
	 * Search of the text of a value for the text of a part that differs between JVMs, or
	 * between equal values. A part counts only if its own text is found, so a value may
	 * keep any part out of its text. Parts are the fields of objects, and the elements of
	 * arrays and of collections of the JDK: other collections may load their elements
	 * from a database.
	 */
	private static final class PartSearch {

		private static final String PROPERTIES = "Write the properties that identify it, for example #a.id + ':' + #a.";

		/** Bound for values that lead to half of the application. */
		private static final int MAX_PARTS = 100;

		private final String text;

		private final boolean hasHashes;

		private final Deque<Part> pending = new ArrayDeque<>();

		private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());

		private PartSearch(String text) {
			this.text = text;
			this.hasHashes = text.indexOf('@') >= 0;
		}

		/**
		 * Find a part of a value whose text must not be in that of a key.
		 * @param value the value
		 * @param text its text
		 * @return the part and the cure, as the end of a sentence about the value, or
		 * {@code null}
		 */
		static @Nullable String find(Object value, String text) {
			if (hasIdentityHash(text, value)) {
				return "has its identity hash in its text. " + PROPERTIES + "version";
			}
			PartSearch search = new PartSearch(text);
			search.pending.add(new Part(value, true));
			String found = null;
			while (found == null && !search.pending.isEmpty()) {
				Part part = search.pending.remove();
				try {
					found = (part.value() != value) ? search.examine(part) : null;
					search.addPartsOf(part.value(), part.generated());
				}
				catch (RuntimeException ex) {
					// A collection that is changed at the same time, a part that fails,
					// or a
					// type that a native image does not know.
				}
			}
			return found;
		}

		private @Nullable String examine(Part part) {
			Object value = part.value();
			if (this.hasHashes && hasHashOf(value)) {
				return inText(value) + ", which has no text of its own (no toString method). " + PROPERTIES + "version";
			}
			String zoneless = zoneless(value);
			// A text that is written by hand may contain the result of this method.
			if (zoneless != null && (part.generated() || zoneless.equals("toInstant()")) && isInText(value)) {
				return inText(value) + ", whose text depends on the time zone. " + PROPERTIES + "at." + zoneless;
			}
			if (part.generated() && hasOrderOfItsOwn(value) && isInText(value)) {
				return inText(value) + ", whose order differs between JVMs. " + PROPERTIES + "version, or sort it";
			}
			return null;
		}

		private boolean isInText(Object value) {
			return this.text.contains(value.toString());
		}

		private static String inText(Object value) {
			return "has a value of type " + value.getClass().getTypeName() + " in its text";
		}

		/**
		 * Return whether the text has the hash of a part, as that of {@code Object} does.
		 * Also one that is no identity hash: entities often have that of their class.
		 */
		private boolean hasHashOf(Object part) {
			if (hasIdentityHash(this.text, part)) {
				return true;
			}
			for (Class<?> c = part.getClass(); c != null; c = c.getSuperclass()) {
				// Before the hash, which a part may load from a database.
				if (this.text.contains(c.getName() + "@")
						&& this.text.contains(c.getName() + "@" + Integer.toHexString(part.hashCode()))) {
					return true;
				}
			}
			return false;
		}

		private static boolean hasIdentityHash(String text, Object value) {
			return text.contains("@" + Integer.toHexString(System.identityHashCode(value)));
		}

		/**
		 * Return whether equal collections have another order in other JVMs: by a random
		 * number, or by identity hashes.
		 */
		private static boolean hasOrderOfItsOwn(Object value) {
			Collection<?> elements = (value instanceof Map<?, ?> map) ? map.keySet()
					: (value instanceof Set<?> set) ? set : List.of();
			Class<?> type = value.getClass();
			if (type.getName().startsWith("java.util.ImmutableCollections$")) {
				return elements.size() > 1;
			}
			return (type == HashSet.class || type == HashMap.class || type == ConcurrentHashMap.class)
					&& elements.size() > 1
					&& elements.stream()
						.anyMatch(
								(element) -> element != null && element.hashCode() == System.identityHashCode(element));
		}

		private void addPartsOf(Object value, boolean generated) {
			@Nullable Object[] elements = elements(value);
			if (elements != null) {
				Stream.of(elements).forEach((element) -> add(element, generated));
			}
			else if (value.getClass().getClassLoader() != null) {
				add(AopProxyUtils.getSingletonTarget(value), generated);
				boolean generatedHere = generated && value instanceof Record && isGenerated(value.getClass());
				ReflectionUtils.doWithFields(value.getClass(), (field) -> {
					if (field.trySetAccessible()) {
						add(field.get(value), generatedHere);
					}
				}, PartSearch::mayHoldPart);
			}
		}

		private static @Nullable Object @Nullable [] elements(Object value) {
			if (value instanceof Object[] array) {
				return array;
			}
			if (value instanceof Optional<?> optional) {
				return optional.stream().toArray();
			}
			if (value instanceof AtomicReference<?> reference) {
				return new Object[] { reference.get() };
			}
			if (value instanceof Map.Entry<?, ?> entry) {
				return new Object[] { entry.getKey(), entry.getValue() };
			}
			if (value.getClass().getClassLoader() == null && value instanceof Map<?, ?> map) {
				return Stream.concat(map.keySet().stream(), map.values().stream()).toArray();
			}
			return (value.getClass().getClassLoader() == null && value instanceof Collection<?> collection)
					? collection.toArray() : null;
		}

		private static boolean mayHoldPart(Field field) {
			return !field.getType().isPrimitive() && !field.isSynthetic() && !Modifier.isStatic(field.getModifiers());
		}

		/** Return whether a record has the text that the language gives it. */
		private boolean isGenerated(Class<?> type) {
			RecordComponent[] components = type.getRecordComponents();
			return components.length > 0
					&& this.text.contains(type.getSimpleName() + "[" + components[0].getName() + "=");
		}

		private void add(@Nullable Object value, boolean generated) {
			if (value != null && this.seen.size() < MAX_PARTS
					&& (value instanceof Date || !ClassUtils.isSimpleValueType(value.getClass()))
					&& this.seen.add(value)) {
				this.pending.add(new Part(value, generated));
			}
		}

		/**
		 * A part of a value.
		 *
		 * @param value the part
		 * @param generated whether the text around it was written by no user
		 */
		private record Part(Object value, boolean generated) {
		}

	}

}
