package io.holdfast.autoconfigure;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import io.holdfast.LockMode;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.ScheduledLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.Schedules;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Warning of scheduled methods that each instance runs in its turn.
 */
@ExtendWith(OutputCaptureExtension.class)
class ScheduledTurnsTests {

	private static final String START = "Each instance runs these scheduled methods in its turn, as they wait for their lock, "
			+ "which is free after each run: ";

	private final ApplicationContextRunner runner = TestApplication.runner().withUserConfiguration(Scheduling.class);

	private void start(ApplicationContextRunner application) {
		application.run((context) -> assertThat(context).hasNotFailed());
	}

	private static List<String> warnings(CapturedOutput output) {
		return output.toString().lines().filter((line) -> line.contains(START)).toList();
	}

	@Test
	@DisplayName("One warning names all scheduled methods with a wait and without minHold, and the property to set")
	void warned(CapturedOutput output) {
		start(this.runner.withBean(Jobs.class).withBean("again", Jobs.class).withBean(LockedJobs.class));
		assertThat(warnings(output)).hasSize(1);
		String warning = warnings(output).get(0);
		String methods = warning.substring(warning.indexOf(START) + START.length(), warning.indexOf(". For one run"));
		String prefix = ScheduledTurnsTests.class.getName() + "$";
		assertThat(methods.split(", ")).containsExactlyElementsOf(
				Stream
					.of("Jobs.cron", "Jobs.delay", "Jobs.mono", "Jobs.nightly", "Jobs.repeated", "Jobs.repeatedly",
							"Jobs.waiting", "LockedJobs.ofType")
					.map(prefix::concat)
					.toList());
		assertThat(warning).contains(" WARN ")
			.contains("@ScheduledLock(name = \"…\", minHold = \"…\")")
			.contains("minHold = \"0\"");
	}

	@Test
	@DisplayName("The property of the warning is accepted, and ends the warning")
	void cured(CapturedOutput output) {
		start(this.runner.withBean(GoodJobs.class));
		assertThat(warnings(output)).isEmpty();
	}

	@Test
	@DisplayName("There is no warning if only an overridden method is scheduled: Spring does not schedule either")
	void overridden(CapturedOutput output) {
		start(this.runner.withBean(OverridingJobs.class));
		assertThat(warnings(output)).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "0", "0s" })
	@DisplayName("There is no warning if the default is not to wait")
	void defaultWait(String wait, CapturedOutput output) {
		start(this.runner.withBean(LockedJobs.class).withPropertyValues("holdfast.lock.wait-time=" + wait));
		assertThat(warnings(output)).isEmpty();
	}

	@Test
	@DisplayName("There is no warning without scheduled methods")
	void notScheduled(CapturedOutput output) {
		start(TestApplication.runner().withBean(Jobs.class));
		assertThat(warnings(output)).isEmpty();
	}

	@Test
	@DisplayName("A bean that is created later gives its warning then, once")
	void later(CapturedOutput output) {
		this.runner.withBean(LockedJobs.class, LockedJobs::new, (definition) -> definition.setScope("prototype"))
			.run((context) -> {
				assertThat(warnings(output)).isEmpty();
				context.getBean(LockedJobs.class);
				context.getBean(LockedJobs.class);
			});
		assertThat(warnings(output)).hasSize(1)
			.allMatch(Pattern.compile("LockedJobs\\.ofType\\. For one run").asPredicate());
	}

	@EnableScheduling
	@Configuration(proxyBeanMethods = false)
	static class Scheduling {

	}

	@Scheduled(cron = "0 0 3 * * *")
	@DistributedLock
	@Target(ElementType.METHOD)
	@Retention(RetentionPolicy.RUNTIME)
	@interface Nightly {

	}

	static class OverriddenJobs {

		@Scheduled(cron = "0 0 3 * * *")
		public void nightly() {
		}

	}

	static class OverridingJobs extends OverriddenJobs {

		@Override
		@DistributedLock
		public void nightly() {
		}

	}

	static class Jobs {

		@Scheduled(cron = "0 0 3 * * *")
		@DistributedLock
		public void cron() {
		}

		@Scheduled(fixedDelay = 86_400_000, initialDelay = 86_400_000)
		@DistributedLock(name = "delay", onTimeout = OnTimeout.SKIP)
		public void delay() {
		}

		@Scheduled(cron = "0 0 3 * * *")
		@DistributedLock(waitTime = "${no.such.wait:1ms}")
		public void waiting() {
		}

		@Scheduled(cron = "0 0 3 * * *")
		@Scheduled(cron = "0 0 4 * * *")
		@DistributedLock(waitTime = "-1")
		public void repeated() {
		}

		@Schedules({ @Scheduled(cron = "0 0 3 * * *"), @Scheduled(cron = "0 0 4 * * *") })
		@DistributedLock
		public void repeatedly() {
		}

		@Nightly
		public void nightly() {
		}

		@Scheduled(fixedRate = 86_400_000, initialDelay = 86_400_000)
		@DistributedLock
		public Mono<Void> mono() {
			return Mono.empty();
		}

		@DistributedLock
		public void notScheduled() {
		}

	}

	@DistributedLock
	static class LockedJobs {

		@Scheduled(cron = "0 0 3 * * *")
		public void ofType() {
		}

	}

	static class GoodJobs {

		@Scheduled(cron = "0 0 3 * * *")
		@ScheduledLock(name = "once", minHold = "1m")
		public void once() {
		}

		@Scheduled(cron = "0 0 3 * * *")
		@DistributedLock(waitTime = "0", onTimeout = OnTimeout.SKIP)
		public void withoutMinHold() {
		}

		@Scheduled(cron = "0 0 3 * * *")
		@DistributedLock(waitTime = "PT0S")
		public void throwing() {
		}

		@Scheduled(cron = "0 0 3 * * *")
		@DistributedLock(minHold = "${no.such.time:1m}")
		public void waitingWithMinHold() {
		}

		@Scheduled(cron = "0 0 3 * * *")
		@DistributedLock(minHold = "0")
		public void meantInTurn() {
		}

		@Scheduled(cron = "0 0 3 * * *")
		@DistributedLock(mode = LockMode.READ)
		public void reading() {
		}

		@Scheduled(cron = "0 0 3 * * *")
		@Semaphore(limit = 3, waitTime = "1m")
		public void limited() {
		}

		@Scheduled(cron = "0 0 3 * * *")
		public void withoutLock() {
		}

	}

}
