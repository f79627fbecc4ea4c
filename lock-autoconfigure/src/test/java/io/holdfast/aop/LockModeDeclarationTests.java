package io.holdfast.aop;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.List;

import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.annotation.DistributedLock;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.core.annotation.AliasFor;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The mode that {@link DistributedLock @DistributedLock} asks for.
 */
class LockModeDeclarationTests {

	@Test
	@DisplayName("The mode is in the request, exclusive unless declared otherwise")
	void mode() {
		try (LockedContext context = LockedContext.of(Settings.class)) {
			Settings settings = context.bean(Settings.class);
			settings.reset();
			settings.read("a");
			settings.write("a");
			LockRequest request = LockRequest.of("settings:a").name("settings");
			assertThat(context.locks().requests()).containsExactly(request.only("settings"),
					request.mode(LockMode.READ), request.mode(LockMode.EXCLUSIVE).autoRenew(false));
		}
	}

	@Test
	@DisplayName("A meta-annotation sets the mode, or has an attribute for it")
	void metaAnnotation() {
		try (LockedContext context = LockedContext.of(Composed.class)) {
			Composed composed = context.bean(Composed.class);
			composed.read();
			composed.write();
			assertThat(context.locks().requests()).extracting(LockRequest::mode)
				.isEqualTo(List.of(LockMode.READ, LockMode.EXCLUSIVE));
		}
	}

	@Test
	@DisplayName("A method may have another mode than its type")
	void methodComesBeforeType() {
		try (LockedContext context = LockedContext.of(Reader.class)) {
			Reader reader = context.bean(Reader.class);
			reader.read();
			reader.write();
			assertThat(context.locks().requests()).containsExactly(LockRequest.of("r").name("r").mode(LockMode.READ),
					LockRequest.of("r").name("r").mode(LockMode.EXCLUSIVE));
		}
	}

	static class Settings {

		@DistributedLock(name = "settings")
		void reset() {
		}

		@DistributedLock(name = "settings", key = "#user", mode = LockMode.READ)
		void read(String user) {
		}

		@DistributedLock(name = "settings", key = "#user", mode = LockMode.EXCLUSIVE, autoRenew = false)
		void write(String user) {
		}

	}

	@Target(ElementType.METHOD)
	@Retention(RetentionPolicy.RUNTIME)
	@DistributedLock(name = "shared")
	@interface SharedLock {

		@AliasFor(annotation = DistributedLock.class, attribute = "mode")
		LockMode value() default LockMode.READ;

	}

	static class Composed {

		@SharedLock
		void read() {
		}

		@SharedLock(LockMode.EXCLUSIVE)
		void write() {
		}

	}

	@DistributedLock(name = "r", mode = LockMode.READ)
	static class Reader {

		public void read() {
		}

		@DistributedLock(name = "r", mode = LockMode.EXCLUSIVE)
		public void write() {
		}

	}

}
