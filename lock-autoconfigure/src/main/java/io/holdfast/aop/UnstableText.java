package io.holdfast.aop;

import java.lang.reflect.Field;
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
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Search of the text of a value for the text of a part that differs between JVMs, or
 * between equal values. A part counts only if its own text is found, so a value may keep
 * any part out of its text. Parts are the fields of objects, and the elements of arrays
 * and of collections of the JDK: other collections may load their elements from a
 * database.
 */
final class UnstableText {

	private static final String PROPERTIES = "Write the properties that identify it, for example #a.id + ':' + #a.";

	/** Bound for values that lead to half of the application. */
	private static final int MAX_PARTS = 100;

	private final String text;

	private final boolean hasHashes;

	private final Deque<Part> pending = new ArrayDeque<>();

	private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());

	private UnstableText(String text) {
		this.text = text;
		this.hasHashes = text.indexOf('@') >= 0;
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
		UnstableText search = new UnstableText(text);
		search.pending.add(new Part(value, true));
		String found = null;
		while (found == null && !search.pending.isEmpty()) {
			Part part = search.pending.remove();
			try {
				found = (part.value() != value) ? search.examine(part) : null;
				search.addPartsOf(part.value(), part.generated());
			}
			catch (RuntimeException ex) {
				// A collection that is changed at the same time, a part that fails, or a
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
		Collection<?> elements;
		if (value instanceof Set<?> set) {
			elements = set;
		}
		else if (value instanceof Map<?, ?> map) {
			elements = map.keySet();
		}
		else {
			return false;
		}
		Class<?> type = value.getClass();
		if (type.getName().startsWith("java.util.ImmutableCollections$")) {
			return elements.size() > 1;
		}
		return (type == HashSet.class || type == HashMap.class || type == ConcurrentHashMap.class)
				&& elements.size() > 1 && elements.stream()
					.anyMatch((element) -> element != null && element.hashCode() == System.identityHashCode(element));
	}

	private void addPartsOf(Object value, boolean generated) {
		if (value instanceof Object[] array) {
			addAll(array, generated);
		}
		else if (value instanceof Optional<?> optional) {
			add(optional.orElse(null), generated);
		}
		else if (value instanceof AtomicReference<?> reference) {
			add(reference.get(), generated);
		}
		else if (value instanceof Map.Entry<?, ?> entry) {
			add(entry.getKey(), generated);
			add(entry.getValue(), generated);
		}
		else if (value.getClass().getClassLoader() != null) {
			add(AopProxyUtils.getSingletonTarget(value), generated);
			addFields(value, generated && value instanceof Record && isGenerated(value.getClass()));
		}
		else if (value instanceof Collection<?> collection) {
			addAll(collection.toArray(), generated);
		}
		else if (value instanceof Map<?, ?> map) {
			addAll(map.keySet().toArray(), generated);
			addAll(map.values().toArray(), generated);
		}
	}

	private void addFields(Object value, boolean generated) {
		ReflectionUtils.doWithFields(value.getClass(), (field) -> {
			if (field.trySetAccessible()) {
				add(field.get(value), generated);
			}
		}, UnstableText::mayHoldPart);
	}

	private static boolean mayHoldPart(Field field) {
		return !field.getType().isPrimitive() && !field.isSynthetic() && !Modifier.isStatic(field.getModifiers());
	}

	/** Return whether a record has the text that the language gives it. */
	private boolean isGenerated(Class<?> type) {
		RecordComponent[] components = type.getRecordComponents();
		return components.length > 0 && this.text.contains(type.getSimpleName() + "[" + components[0].getName() + "=");
	}

	private void addAll(@Nullable Object[] values, boolean generated) {
		for (Object value : values) {
			add(value, generated);
		}
	}

	private void add(@Nullable Object value, boolean generated) {
		if (value != null && this.seen.size() < MAX_PARTS && isPart(value) && this.seen.add(value)) {
			this.pending.add(new Part(value, generated));
		}
	}

	private static boolean isPart(Object value) {
		return value instanceof Date || !ClassUtils.isSimpleValueType(value.getClass());
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
