package io.holdfast.aop;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.concurrent.Callable;

import org.springframework.beans.BeanUtils;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Hides a library from Holdfast: defines the classes of Holdfast itself, as the parent's
 * classes would find the library.
 */
final class HidingClassLoader extends ClassLoader {

	private final List<String> hidden;

	/**
	 * Create the loader.
	 * @param hidden the prefixes of the names of hidden classes
	 */
	HidingClassLoader(String... hidden) {
		super(HidingClassLoader.class.getClassLoader());
		this.hidden = List.of(hidden);
	}

	/**
	 * Run an application in this loader, and return its result.
	 * @param application the application, as loaded by the tests
	 */
	Object run(Class<? extends Callable<?>> application) throws Exception {
		Thread thread = Thread.currentThread();
		ClassLoader former = thread.getContextClassLoader();
		thread.setContextClassLoader(this);
		try {
			Class<?> own = loadClass(application.getName());
			assertThat(own.getClassLoader()).isSameAs(this);
			return ((Callable<?>) BeanUtils.instantiateClass(own)).call();
		}
		finally {
			thread.setContextClassLoader(former);
		}
	}

	@Override
	protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
		if (this.hidden.stream().anyMatch(name::startsWith)) {
			throw new ClassNotFoundException(name);
		}
		if (!name.startsWith("io.holdfast.")) {
			return super.loadClass(name, resolve);
		}
		synchronized (getClassLoadingLock(name)) {
			Class<?> loaded = findLoadedClass(name);
			return (loaded != null) ? loaded : define(name);
		}
	}

	private Class<?> define(String name) throws ClassNotFoundException {
		try (InputStream stream = getResourceAsStream(name.replace('.', '/') + ".class")) {
			if (stream == null) {
				throw new ClassNotFoundException(name);
			}
			byte[] bytes = stream.readAllBytes();
			return defineClass(name, bytes, 0, bytes.length);
		}
		catch (IOException ex) {
			throw new ClassNotFoundException(name, ex);
		}
	}

}
