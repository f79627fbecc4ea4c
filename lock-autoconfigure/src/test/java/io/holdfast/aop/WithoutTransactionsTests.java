package io.holdfast.aop;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.concurrent.Callable;

import io.holdfast.annotation.DistributedLock;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.beans.BeanUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Applications without spring-tx.
 */
class WithoutTransactionsTests {

	@Test
	@DisplayName("Without spring-tx on the class path, locks are released after their methods")
	void withoutSpringTx() throws Exception {
		ClassLoader loader = new WithoutSpringTx(getClass().getClassLoader());
		assertThatExceptionOfType(ClassNotFoundException.class)
			.isThrownBy(() -> loader.loadClass("org.springframework.transaction.support.TransactionSynchronization"));
		ClassLoader former = Thread.currentThread().getContextClassLoader();
		Thread.currentThread().setContextClassLoader(loader);
		try {
			Class<?> application = loader.loadClass(Application.class.getName());
			assertThat(application.getClassLoader()).isSameAs(loader);
			Object events = ((Callable<?>) BeanUtils.instantiateClass(application)).call();
			assertThat(events).isEqualTo(List.of("lock", "body", "unlock"));
		}
		finally {
			Thread.currentThread().setContextClassLoader(former);
		}
	}

	static class Application implements Callable<List<String>> {

		@Override
		public List<String> call() {
			try (LockedContext context = LockedContext.withClassProxies(Shop.class)) {
				context.bean(Shop.class).sell();
				return context.locks().events();
			}
		}

	}

	static class Shop {

		private final RecordingLocks recorder;

		Shop(RecordingLocks recorder) {
			this.recorder = recorder;
		}

		@DistributedLock
		void sell() {
			this.recorder.record("body");
		}

	}

	/** Loads what is Holdfast's itself, so that it does not see what its parent sees. */
	private static final class WithoutSpringTx extends ClassLoader {

		WithoutSpringTx(ClassLoader parent) {
			super(parent);
		}

		@Override
		protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
			if (name.startsWith("org.springframework.transaction.")) {
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

}
