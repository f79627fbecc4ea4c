package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import io.holdfast.OptimisticTransactionException;
import io.holdfast.optimistic.OptimisticTransactions;
import io.holdfast.optimistic.OptimisticTransactions.Options;
import io.holdfast.testing.RedisTestCase;
import io.holdfast.testing.TestApplication;
import org.aspectj.lang.annotation.Aspect;
import org.aspectj.lang.annotation.Before;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mockito.Mockito;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Optimistic transactions of an application, and their properties.
 */
class OptimisticAutoConfigurationTests extends RedisTestCase {

	private ApplicationContextRunner runner = new ApplicationContextRunner();

	@BeforeEach
	void connect() {
		this.runner = TestApplication.runner(this.redis);
	}

	@ParameterizedTest
	@CsvSource({ "max-attempts=3,3", "max-time=1ms,1" })
	@DisplayName("S8 there are optimistic transactions on the application's Redis, within the configured bounds")
	void bounds(String property, int attempts) {
		String key = this.redis.keyPrefix() + "a";
		this.runner.withPropertyValues("holdfast.optimistic." + property).run((context) -> {
			OptimisticTransactions transactions = context.getBean(OptimisticTransactions.class);
			assertThatExceptionOfType(OptimisticTransactionException.class)
				.isThrownBy(() -> transactions.execute(List.of(key), (tx) -> {
					this.redis.template().opsForValue().increment(key);
					tx.write((writer) -> writer.delete(key));
					return null;
				}))
				.satisfies((ex) -> assertThat(ex.getAttempts()).isEqualTo(attempts));
			assertThat(this.redis.template().opsForValue().get(key)).isEqualTo(String.valueOf(attempts));
		});
	}

	@Test
	@DisplayName("The properties have the defaults of the transactions, and set all bounds")
	void options() {
		this.runner.run((context) -> assertThat(context.getBean(HoldfastProperties.class).optimisticOptions())
			.isEqualTo(Options.defaults()));
		this.runner
			.withPropertyValues("holdfast.optimistic.max-attempts=7", "holdfast.optimistic.max-time=3s",
					"holdfast.optimistic.back-off=10ms")
			.run((context) -> assertThat(context.getBean(HoldfastProperties.class).optimisticOptions())
				.isEqualTo(new Options(7, Duration.ofSeconds(3), Duration.ofMillis(10))));
	}

	@Test
	@DisplayName("An application's own transactions take precedence; switched off, there are none")
	void backsOff() {
		this.runner.withBean("own", OptimisticTransactions.class, () -> Mockito.mock(OptimisticTransactions.class))
			.run((context) -> assertThat(context).getBean(OptimisticTransactions.class)
				.isSameAs(context.getBean("own")));
		this.runner.withPropertyValues("holdfast.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(OptimisticTransactions.class));
	}

	@Test
	@DisplayName("The transactions can be advised")
	void letsThemBeAdvised() {
		this.runner.withConfiguration(AutoConfigurations.of(AopAutoConfiguration.class))
			.withUserConfiguration(Timing.class)
			.run((context) -> {
				OptimisticTransactions transactions = context.getBean(OptimisticTransactions.class);
				String result = transactions.execute(List.of(this.redis.keyPrefix() + "a"), (tx) -> "done");
				assertThat(result).isEqualTo("done");
				assertThat(context.getBean(Timing.class).calls).hasValue(1);
			});
	}

	@ParameterizedTest
	@CsvSource({ "max-attempts,1", "max-time,1ms", "back-off,365d" })
	@DisplayName("Values at the bounds are allowed")
	void allowsTheBounds(String name, String value) {
		this.runner.withPropertyValues("holdfast.optimistic." + name + "=" + value)
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	@DisplayName("Options set in code are checked as well")
	void checksOptions() {
		Options defaults = Options.defaults();
		assertThatException().isThrownBy(() -> defaults.maxAttempts(0))
			.withMessage("maxAttempts is 0, which is less than 1");
		assertThatException().isThrownBy(() -> defaults.maxTime(Duration.ZERO))
			.withMessage("maxTime is PT0S, which is less than 1 ms");
		assertThatException().isThrownBy(() -> defaults.backOff(Duration.ofMillis(-1)))
			.withMessage("backOff is PT-0.001S, which is less than 1 ms");
		assertThat(defaults.maxAttempts(1).maxTime(Duration.ofMillis(2)).backOff(Duration.ofMillis(3)))
			.isEqualTo(new Options(1, Duration.ofMillis(2), Duration.ofMillis(3)));
	}

	@Aspect
	static class Timing {

		final AtomicInteger calls = new AtomicInteger();

		@Before("execution(* io.holdfast.optimistic.OptimisticTransactions.execute(..))")
		void count() {
			this.calls.incrementAndGet();
		}

	}

}
