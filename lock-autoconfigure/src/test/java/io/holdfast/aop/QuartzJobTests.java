package io.holdfast.aop;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.holdfast.annotation.DistributedLock;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.quartz.JobBuilder;
import org.quartz.JobDetail;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.SchedulerException;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.quartz.QuartzJobBean;
import org.springframework.scheduling.quartz.SchedulerFactoryBean;
import org.springframework.scheduling.quartz.SpringBeanJobFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * Jobs of Quartz: Spring creates a bean without a definition for each run.
 */
class QuartzJobTests {

	@Test
	@DisplayName("A job is locked if its method is annotated")
	void locked() throws Exception {
		try (LockedContext context = LockedContext.withClassProxies(Quartz.class)) {
			Scheduler scheduler = context.bean(Scheduler.class);
			JobDetail job = JobBuilder.newJob(LockedWork.class).withIdentity("job").storeDurably().build();
			scheduler.addJob(job, true);
			scheduler.triggerJob(job.getKey());
			assertThat(context.bean(CountDownLatch.class).await(30, TimeUnit.SECONDS)).isTrue();
			scheduler.shutdown(true);
			assertThat(context.locks().events()).containsExactly("lock", "body", "unlock");
		}
	}

	@Test
	@DisplayName("An annotation without effect is found at the start, through the details of the job")
	void details() {
		assertThatException().isThrownBy(() -> LockedContext.withClassProxies(BuiltDetail.class).close())
			.havingRootCause()
			.isInstanceOf(InvalidDeclarationException.class)
			.withMessageContaining("@DistributedLock on " + NightlyJob.class.getName())
			.withMessageContaining(
					"has no effect, because it applies to public methods that the bean's proxy can advise")
			.withMessageContaining("annotate that method");
	}

	@Test
	@DisplayName("Details of locked jobs create no job at the start")
	void detailsOfLocked() throws SchedulerException {
		try (LockedContext context = LockedContext.withClassProxies(LockedDetail.class)) {
			assertThat(context.bean(JobDetail.class).getJobClass()).isEqualTo(LockedWork.class);
			assertThat(context.locks().events()).isEmpty();
		}
	}

	static class LockedWork extends QuartzJobBean {

		private final RecordingLocks recorder;

		private final CountDownLatch done;

		LockedWork(RecordingLocks recorder, CountDownLatch done) {
			this.recorder = recorder;
			this.done = done;
		}

		@Override
		@DistributedLock
		protected void executeInternal(JobExecutionContext context) {
			this.recorder.record("body");
			this.done.countDown();
		}

	}

	@DistributedLock
	static class NightlyJob extends QuartzJobBean {

		@Override
		protected void executeInternal(JobExecutionContext context) {
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Quartz {

		@Bean
		CountDownLatch done() {
			return new CountDownLatch(1);
		}

		@Bean
		SchedulerFactoryBean scheduler() {
			SchedulerFactoryBean scheduler = new SchedulerFactoryBean();
			scheduler.setJobFactory(new SpringBeanJobFactory());
			return scheduler;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class BuiltDetail {

		@Bean
		JobDetail nightly() {
			return JobBuilder.newJob(NightlyJob.class).storeDurably().build();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class LockedDetail {

		@Bean
		JobDetail nightly() {
			return JobBuilder.newJob(LockedWork.class).storeDurably().build();
		}

	}

}
