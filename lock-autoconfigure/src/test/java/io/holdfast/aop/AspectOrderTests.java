package io.holdfast.aop;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.annotation.DistributedLock;
import org.aopalliance.intercept.MethodInterceptor;
import org.aspectj.lang.JoinPoint;
import org.aspectj.lang.annotation.Aspect;
import org.aspectj.lang.annotation.Before;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.aop.framework.AbstractAdvisingBeanPostProcessor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.EnableAspectJAutoProxy;
import org.springframework.core.annotation.Order;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Position of the lock among the aspects of an application.
 */
class AspectOrderTests extends LockedTestCase {

	@Test
	@DisplayName("By default, aspects with an order run outside of the lock, and aspects without an order inside")
	void aspectsByOrder() {
		start(Shop.class, Aspects.class).plain();
		assertEvents("aspect 0", "aspect 10", "lock", "aspect", "body", "unlock");
	}

	@Test
	@DisplayName("Advice that a post-processor puts in front of all aspects does not move the lock")
	void beforeAllAspects() {
		start(Shop.class, Aspects.class, FrontProcessor.class).plain();
		assertEvents("front", "aspect 0", "aspect 10", "lock", "aspect", "body", "unlock");
	}

	@Test
	@DisplayName("Advice of any order behind the transactions does not move the lock")
	void behindTransactions() {
		start(AdviceOrderTests.Shop.class, AdviceOrderTests.TransactionsAndAspects.class, EndProcessor.class).sell();
		assertEvents("lock", "begin", "end", "body", "commit", "unlock");
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 10 })
	@DisplayName("The order can place the lock between two aspects, also for a method that runs on another thread")
	void betweenAspects(int order) {
		Shop shop = startWithOrder(order, Shop.class, Aspects.class);
		shop.plain();
		assertThat(shop.later()).succeedsWithin(Duration.ofSeconds(10));
		assertEvents("aspect 0", "lock", "aspect 10", "aspect", "body", "unlock", "aspect 0", "lock", "aspect 10",
				"aspect", "body", "unlock");
	}

	static class Shop extends Recorded {

		@DistributedLock(name = "shop")
		void plain() {
			this.recorder.record("body");
		}

		@DistributedLock(name = "shop")
		CompletableFuture<Void> later() {
			this.recorder.record("body");
			return CompletableFuture.completedFuture(null);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAspectJAutoProxy
	static class Aspects {

		@Bean
		RecordingAspect aspect(RecordingLocks recorder) {
			return new RecordingAspect(recorder, "aspect");
		}

		@Bean
		SecondAspect secondAspect(RecordingLocks recorder) {
			return new SecondAspect(recorder);
		}

		@Bean
		FirstAspect firstAspect(RecordingLocks recorder) {
			return new FirstAspect(recorder);
		}

	}

	@Aspect
	static class RecordingAspect {

		private final RecordingLocks recorder;

		private final String event;

		RecordingAspect(RecordingLocks recorder, String event) {
			this.recorder = recorder;
			this.event = event;
		}

		@Before("execution(* io.holdfast.aop.AspectOrderTests.Shop.plain()) || execution(* io.holdfast.aop.AspectOrderTests.Shop.later())")
		void before(JoinPoint joinPoint) {
			this.recorder.record(this.event);
		}

	}

	@Aspect
	@Order(0)
	static class FirstAspect extends RecordingAspect {

		FirstAspect(RecordingLocks recorder) {
			super(recorder, "aspect 0");
		}

	}

	@Aspect
	@Order(10)
	static class SecondAspect extends RecordingAspect {

		SecondAspect(RecordingLocks recorder) {
			super(recorder, "aspect 10");
		}

	}

	/** Runs before the post-processor of the lock. */
	@SuppressWarnings("serial")
	abstract static class AdvisingProcessor extends AbstractAdvisingBeanPostProcessor {

		AdvisingProcessor(ObjectProvider<RecordingLocks> recorder, String event) {
			DefaultPointcutAdvisor advisor = new DefaultPointcutAdvisor((MethodInterceptor) (invocation) -> {
				recorder.getObject().record(event);
				return invocation.proceed();
			});
			this.advisor = advisor;
			setOrder(0);
			if (event.equals("front")) {
				setBeforeExistingAdvisors(true);
			}
			else {
				advisor.setOrder(0);
			}
		}

		@Override
		protected boolean isEligible(Class<?> targetClass) {
			return Recorded.class.isAssignableFrom(targetClass);
		}

	}

	@SuppressWarnings("serial")
	static class FrontProcessor extends AdvisingProcessor {

		FrontProcessor(ObjectProvider<RecordingLocks> recorder) {
			super(recorder, "front");
		}

	}

	@SuppressWarnings("serial")
	static class EndProcessor extends AdvisingProcessor {

		EndProcessor(ObjectProvider<RecordingLocks> recorder) {
			super(recorder, "end");
		}

	}

}
