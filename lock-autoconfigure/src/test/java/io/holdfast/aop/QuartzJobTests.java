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

import org.springframework.scheduling.quartz.QuartzJobBean;
import org.springframework.scheduling.quartz.SchedulerFactoryBean;
import org.springframework.scheduling.quartz.SpringBeanJobFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Jobs of Quartz: Spring creates a bean without a definition for each run.
 */
class QuartzJobTests extends LockedTestCase {

	@Test
	@DisplayName("A job is locked if its method is annotated")
	void locked() throws Exception {
		register("scheduler", SchedulerFactoryBean.class, () -> {
			SchedulerFactoryBean factory = new SchedulerFactoryBean();
			factory.setJobFactory(new SpringBeanJobFactory());
			return factory;
		});
		register("done", CountDownLatch.class, () -> new CountDownLatch(1));
		start();
		Scheduler scheduler = bean(Scheduler.class);
		JobDetail job = JobBuilder.newJob(LockedWork.class).withIdentity("job").storeDurably().build();
		scheduler.addJob(job, true);
		scheduler.triggerJob(job.getKey());
		assertThat(bean(CountDownLatch.class).await(30, TimeUnit.SECONDS)).isTrue();
		scheduler.shutdown(true);
		assertEvents("lock", "body", "unlock");
	}

	@Test
	@DisplayName("An annotation without effect is found at the start, through the details of the job")
	void details() {
		register("nightly", JobDetail.class, () -> JobBuilder.newJob(NightlyJob.class).storeDurably().build());
		assertThat(refusal()).hasMessageContainingAll("@DistributedLock on " + NightlyJob.class.getName(),
				"has no effect, because it applies to public methods that the bean's proxy can advise",
				"annotate that method");
	}

	@Test
	@DisplayName("Details of locked jobs create no job at the start")
	void detailsOfLocked() {
		register("nightly", JobDetail.class, () -> JobBuilder.newJob(LockedWork.class).storeDurably().build());
		start();
		assertThat(bean(JobDetail.class).getJobClass()).isEqualTo(LockedWork.class);
		assertEvents();
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

}
