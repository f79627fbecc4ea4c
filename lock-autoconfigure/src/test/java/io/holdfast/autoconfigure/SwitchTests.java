package io.holdfast.autoconfigure;

import java.util.Map;

import io.holdfast.LockService;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.aot.AotDetector;
import org.springframework.beans.BeanUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.mock.env.MockEnvironment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Switches, by which no application runs without locks unnoticed.
 */
@ExtendWith(OutputCaptureExtension.class)
class SwitchTests {

	private final ApplicationContextRunner runner = TestApplication.runner(HoldfastSwitchAutoConfiguration.class);

	@Test
	@DisplayName("If Holdfast is switched off, one warning says so, also with lazy beans")
	void off(CapturedOutput output) {
		this.runner.withPropertyValues("holdfast.enabled=false", "spring.main.lazy-initialization=true")
			.run((context) -> assertThat(context).hasNotFailed());
		assertThat(output.toString()).containsOnlyOnce("Holdfast is switched off (holdfast.enabled=false)");
	}

	@Test
	@DisplayName("If only the annotations are switched off, a warning says so")
	void annotationsOff(CapturedOutput output) {
		this.runner.withPropertyValues("holdfast.aop.enabled=false")
			.run((context) -> assertThat(context).hasSingleBean(LockService.class));
		assertThat(output.toString()).containsOnlyOnce("Annotations are switched off (holdfast.aop.enabled=false)")
			.doesNotContain("Holdfast is switched off");
	}

	@Test
	@DisplayName("Switches of an application built ahead of time cannot be changed at run time")
	void aheadOfTime(CapturedOutput output) {
		System.setProperty(AotDetector.AOT_ENABLED, "true");
		try {
			this.runner.run((context) -> assertThat(context).hasNotFailed());
			assertThat(output).doesNotContain("has no effect");
			MockEnvironment off = new MockEnvironment().withProperty("holdfast.enabled", "false");
			assertThatExceptionOfType(InvalidConfigurationPropertyValueException.class)
				.isThrownBy(() -> new HoldfastSwitchAutoConfiguration(off, built(HoldfastAutoConfiguration.class)))
				.withMessageContaining("holdfast.enabled")
				.withMessageContaining("processed ahead of time with true");
			MockEnvironment noAop = new MockEnvironment().withProperty("holdfast.aop.enabled", "false");
			assertThatExceptionOfType(InvalidConfigurationPropertyValueException.class)
				.isThrownBy(() -> new HoldfastSwitchAutoConfiguration(noAop,
						built(HoldfastAutoConfiguration.class, HoldfastAopAutoConfiguration.class)))
				.withMessageContaining("holdfast.aop.enabled");
			assertThat(output).doesNotContain("has no effect");
			new HoldfastSwitchAutoConfiguration(new MockEnvironment(), built(HoldfastAutoConfiguration.class));
			assertThat(output.toString()).containsOnlyOnce("holdfast.aop.enabled has no effect");
		}
		finally {
			System.clearProperty(AotDetector.AOT_ENABLED);
		}
	}

	private static BeanFactory built(Class<?>... configurations) {
		StaticListableBeanFactory beans = new StaticListableBeanFactory();
		for (Class<?> type : configurations) {
			beans.addBean(type.getName(), BeanUtils.instantiateClass(type));
		}
		return beans;
	}

	@Test
	@DisplayName("An application built ahead of time for memory refuses to run with Redis")
	void memoryAheadOfTime() {
		HoldfastProperties properties = new Binder(new MapConfigurationPropertySource(Map.of()))
			.bindOrCreate("holdfast", HoldfastProperties.class);
		assertThatExceptionOfType(InvalidConfigurationPropertyValueException.class)
			.isThrownBy(() -> new MemoryBackendConfiguration().holdfastLeaseEngine(properties.newMemory(), properties))
			.withMessageContaining("holdfast.backend")
			.withMessageContaining("processed ahead of time with memory");
	}

	@Test
	@DisplayName("Unknown properties give warnings with their origin")
	void unknown(CapturedOutput output) {
		this.runner
			.withPropertyValues("holdfast.lock.wait-tme=5s", "holdfast.semaphore.limit=5", "holdfast.wait-time=5s",
					"holdfast.console.enabled=true", "holdfast.lock.local-hand-over.maxCount=1",
					"holdfast.fence.jdbc.data-sources[0]=dataSource", "holdfast.aop.order=7", "holdfastly.limit=5")
			.withSystemProperties("holdfast.port=tcp://10.0.0.1")
			.run((context) -> assertThat(context).hasNotFailed());
		assertThat(output.toString().lines().filter((line) -> line.contains("There is no property")))
			.satisfiesExactlyInAnyOrder(
					(line) -> assertThat(line).contains("property holdfast.lock.wait-tme,",
							"from property source \"test\""),
					(line) -> assertThat(line).contains("holdfast.semaphore.limit"),
					(line) -> assertThat(line).contains("holdfast.wait-time"));
	}

	@Test
	@DisplayName("Switched on, in any case of the word, Holdfast logs no warning")
	void on(CapturedOutput output) {
		this.runner.run((context) -> assertThat(context).hasNotFailed());
		this.runner.withPropertyValues("holdfast.enabled=TRUE", "holdfast.aop.enabled=True")
			.run((context) -> assertThat(context).hasNotFailed());
		assertThat(output).doesNotContain("switched off");
	}

}
