package io.holdfast.memory;

import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;

import io.holdfast.engine.store.Resource;
import org.jspecify.annotations.Nullable;

import org.springframework.objenesis.SpringObjenesis;
import org.springframework.util.ReflectionUtils;

/**
 * Copy of the state of {@link MemoryLeases}, as on a server's replica.
 */
public final class MemoryReplica {

	private final Map<Resource, MemoryResource> resources = new LinkedHashMap<>();

	/** Copy the current state. */
	public MemoryReplica(MemoryLeases leases) {
		synchronized (leases) {
			leases.resources.forEach((resource, stored) -> this.resources.put(resource, copyOfFields(stored)));
		}
	}

	/**
	 * Continue with this state, as Redis after a fail-over. Ends the use of this copy.
	 * @param longestLease time without new grants, in which holders recover their leases
	 * by renewal; 0 for none
	 */
	public void takeOver(MemoryLeases leases, Duration longestLease) {
		synchronized (leases) {
			leases.resources.clear();
			leases.resources.putAll(this.resources);
			if (!longestLease.isZero()) {
				leases.beginGrace(longestLease);
			}
		}
	}

	/** Return an independent copy. */
	private static @Nullable Object copy(@Nullable Object value) {
		if (value instanceof List<?> list) {
			return new ArrayList<>(list);
		}
		if (value instanceof SortedSet<?> sorted) {
			return new TreeSet<>(sorted);
		}
		if (value instanceof Map<?, ?> map) {
			return new LinkedHashMap<>(map);
		}
		return (value instanceof StoredPermits) ? copyOfFields(value) : value;
	}

	@SuppressWarnings("unchecked")
	private static <T> T copyOfFields(T source) {
		T target = (T) new SpringObjenesis().newInstance(source.getClass(), false);
		ReflectionUtils.doWithFields(source.getClass(), (field) -> {
			field.setAccessible(true);
			field.set(target, copy(field.get(source)));
		}, (field) -> !Modifier.isStatic(field.getModifiers()));
		return target;
	}

}
