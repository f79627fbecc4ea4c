package io.holdfast.testing;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectFactory;
import org.springframework.beans.factory.config.Scope;

/**
 * A scope that not every thread is in, as that of web requests: there is none at the
 * start. Gives a bean of its own to each look-up.
 *
 * @param check throws an {@link IllegalStateException} if the current thread is not in it
 */
public record CallScope(Runnable check) implements Scope {

	@Override
	public Object get(String name, ObjectFactory<?> beans) {
		this.check.run();
		return beans.getObject();
	}

	@Override
	public @Nullable Object remove(String name) {
		return null;
	}

	@Override
	public void registerDestructionCallback(String name, Runnable callback) {
		// Its beans need none.
	}

}
