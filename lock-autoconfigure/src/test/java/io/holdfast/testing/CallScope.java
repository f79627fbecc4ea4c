package io.holdfast.testing;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectFactory;
import org.springframework.beans.factory.config.Scope;

/**
 * Scope that is not active on every thread, like the scope of web requests, and never at
 * the start. Each look-up creates a bean.
 *
 * @param check throws an {@link IllegalStateException} if the scope is not active on the
 * current thread
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
		// No bean of this scope needs a destruction callback.
	}

}
