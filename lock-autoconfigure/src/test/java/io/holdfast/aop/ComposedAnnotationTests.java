package io.holdfast.aop;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.Duration;
import java.util.Map;

import io.holdfast.LockRequest;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.ScheduledLock;
import io.holdfast.annotation.Semaphore;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.AliasFor;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Composed annotations of an application for locks and permits, with attribute aliases.
 */
class ComposedAnnotationTests extends LockedTestCase {

	private final Jobs jobs = start(Map.of("needed", "true", "instead", "without", "service", "others", "hold", "2h"),
			Jobs.class, Others.class);

	@Test
	@DisplayName("A composed annotation has the effect of its meta-annotation")
	void defaults() {
		assertThat(this.jobs.usual(1)).isEqualTo("ran");
		assertThat(this.locks.lastRequest()).isEqualTo(LockRequest.of("job")
			.name("job")
			.waitTime(Duration.ZERO)
			.minHold(Duration.ofSeconds(30))
			.maxHold(Duration.ofHours(1)));
		assertThat(this.jobs.usual(0)).isEqualTo("ran");
		assertThat(this.locks.requests()).hasSize(1);
		this.locks.busy();
		assertThat(this.jobs.usual(1)).isNull();
	}

	@Test
	@DisplayName("Attributes of the composed annotation set attributes of the meta-annotation, texts with placeholders too")
	void overridden() {
		assertThat(this.jobs.changed(0)).isEqualTo("ran");
		RecordingLocks others = bean("others", RecordingLocks.class);
		assertThat(this.locks.requests()).isEmpty();
		assertThat(others.lastRequest()).isEqualTo(LockRequest.of("other")
			.name("other")
			.waitTime(Duration.ZERO)
			.minHold(Duration.ofHours(2))
			.maxHold(Duration.ofHours(2)));
		others.busy();
		assertThat(this.jobs.changed(0)).isEqualTo("without");
	}

	@Test
	@DisplayName("Two composed annotations for locks on one method are refused, as only one lock would be taken")
	void competing() {
		assertThat(refusal(Competing.class))
			.hasMessageContaining("@DistributedLock on " + Competing.class.getName() + ".run() is there 2 times")
			.hasMessageContaining("by @DistributedLock and @Other, of which only one would apply");
		start(LockAndPermit.class);
	}

	@Test
	@DisplayName("A message names the annotation as written, and its meta-annotation")
	void named() {
		assertThat(refusal(NumberJob.class)).hasMessageStartingWith("@ScheduledLock (@DistributedLock) on "
				+ NumberJob.class.getName() + ".count(): onTimeout = SKIP is not possible");
	}

	static class NumberJob {

		@ScheduledLock(name = "count")
		public int count() {
			return 1;
		}

	}

	static class Competing {

		@Other
		@DistributedLock(name = "own")
		public void run() {
		}

	}

	static class LockAndPermit {

		@Other
		@Semaphore(limit = 1)
		public void run() {
		}

	}

	@Retention(RetentionPolicy.RUNTIME)
	@DistributedLock(name = "other")
	@interface Other {

	}

	@Target(ElementType.METHOD)
	@Retention(RetentionPolicy.RUNTIME)
	@DistributedLock(waitTime = "0")
	@interface Job {

		@AliasFor(annotation = DistributedLock.class)
		String name() default "job";

		@AliasFor(annotation = DistributedLock.class, attribute = "minHold")
		String atLeast() default "30s";

		@AliasFor(annotation = DistributedLock.class, attribute = "maxHold")
		String atMost() default "1h";

		@AliasFor(annotation = DistributedLock.class, attribute = "onTimeout")
		OnTimeout whenBusy() default OnTimeout.SKIP;

		@AliasFor(annotation = DistributedLock.class)
		String fallback() default "";

		@AliasFor(annotation = DistributedLock.class)
		String condition() default "#count > 0";

		@AliasFor(annotation = DistributedLock.class)
		String service() default "";

	}

	@Configuration(proxyBeanMethods = false)
	static class Others {

		@Bean
		RecordingLocks others() {
			return new RecordingLocks();
		}

	}

	static class Jobs {

		@Job
		@Nullable String usual(int count) {
			return "ran";
		}

		@Job(name = "other", atLeast = "${hold}", atMost = "${hold}", whenBusy = OnTimeout.THROW,
				fallback = "${instead}", condition = "${needed}", service = "${service}")
		String changed(int count) {
			return "ran";
		}

		private String without(int count) {
			return "without";
		}

	}

}
