package io.holdfast.aop;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.holdfast.annotation.DistributedLock;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobDetail;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.SchedulerException;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.quartz.JobDetailFactoryBean;
import org.springframework.scheduling.quartz.QuartzJobBean;
import org.springframework.scheduling.quartz.SchedulerFactoryBean;
import org.springframework.scheduling.quartz.SpringBeanJobFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * Jobs of Quartz, which Spring creates for each run and are beans of no definition.
 */
class QuartzJobTests {

	@ParameterizedTest
	@ValueSource(classes = { LockedWork.class, LockedJob.class })
	@DisplayName("The work is locked if its method is annotated, or the type of a job that has no other method")
	void locked(Class<? extends Job> type) throws Exception {
		try (LockedContext context = LockedContext.withClassProxies(Quartz.class)) {
			Scheduler scheduler = context.bean(Scheduler.class);
			JobDetail job = JobBuilder.newJob(type).withIdentity("job").storeDurably().build();
			scheduler.addJob(job, true);
			scheduler.triggerJob(job.getKey());
			assertThat(context.bean(CountDownLatch.class).await(30, TimeUnit.SECONDS)).isTrue();
			scheduler.shutdown(true);
			assertThat(context.locks().events()).containsExactly("lock", "body", "unlock");
		}
	}

	@ParameterizedTest
	@ValueSource(classes = { BuiltDetail.class, FactoryDetail.class })
	@DisplayName("An annotation without effect is found at the start by the job's details")
	void details(Class<?> configuration) {
		assertThatException().isThrownBy(() -> LockedContext.withClassProxies(configuration).close())
			.havingRootCause()
			.isInstanceOf(InvalidDeclarationException.class)
			.withMessageContaining("@DistributedLock on " + NightlyJob.class.getName())
			.withMessageContaining(
					"has no effect, because it applies to public methods that the bean's proxy can advise")
			.withMessageContaining("annotate that method");
	}

	@Test
	@DisplayName("Details of jobs that are locked are those of any other job")
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
	static class LockedJob implements Job {

		private final RecordingLocks recorder;

		private final CountDownLatch done;

		LockedJob(RecordingLocks recorder, CountDownLatch done) {
			this.recorder = recorder;
			this.done = done;
		}

		@Override
		public void execute(JobExecutionContext context) {
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
	static class FactoryDetail {

		@Bean
		JobDetailFactoryBean nightly() {
			JobDetailFactoryBean detail = new JobDetailFactoryBean();
			detail.setJobClass(NightlyJob.class);
			return detail;
		}

		@Bean
		List<JobDetail> all(JobDetail nightly) {
			return List.of(nightly);
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
