package io.holdfast.autoconfigure.start;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.autoconfigure.HoldfastAopAutoConfiguration;
import io.holdfast.autoconfigure.HoldfastAutoConfiguration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.support.GenericApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * What an application is told when it starts in a way that leaves methods unguarded, or
 * with a Spring Boot that is too old.
 */
@ExtendWith(OutputCaptureExtension.class)
class StartInitializerTests {

	private static final String WARNING = "Annotated methods run without locks and permits";

	private static void run(Class<?> application, String... args) {
		new SpringApplicationBuilder(application).web(WebApplicationType.NONE)
			.properties("holdfast.backend=memory")
			.run(args)
			.close();
	}

	@Test
	@DisplayName("Where the annotations have no effect, one warning names the methods")
	void unguarded(CapturedOutput output) {
		run(WithoutAop.class);
		assertThat(output.toString()).containsOnlyOnce(WARNING)
			.contains("not part of this context: " + Shop.class.getName())
			.contains(" and 1 more. In the test of a slice, add @AutoConfigureHoldfast of lock-starter-test");
	}

	@Test
	@DisplayName("Nothing is said where they have, where nothing is annotated, and where a switch says so")
	void quiet(CapturedOutput output) {
		run(Guarded.class);
		run(Unannotated.class);
		run(WithoutAop.class, "--holdfast.aop.enabled=false");
		run(WithoutHoldfast.class, "--holdfast.enabled=false");
		assertThat(output).doesNotContain(WARNING);
	}

	@Test
	@DisplayName("A type's annotation counts, too")
	void type(CapturedOutput output) {
		run(WithoutHoldfast.class);
		assertThat(output.toString()).containsOnlyOnce(WARNING).contains(Stock.class.getName() + ".count");
	}

	@Test
	@DisplayName("A bean whose class cannot be loaded keeps others from being found no more than the application from starting")
	void broken(CapturedOutput output) {
		RootBeanDefinition broken = new RootBeanDefinition();
		broken.setBeanClassName("com.example.NotThere");
		broken.setLazyInit(true);
		try (GenericApplicationContext context = new GenericApplicationContext()) {
			context.refresh();
			context.registerBeanDefinition("broken", broken);
			context.registerBean(Shop.class);
			new UnguardedMethodsListener(context).onApplicationEvent(new ContextRefreshedEvent(context));
		}
		assertThat(output.toString()).containsOnlyOnce(WARNING);
	}

	@ParameterizedTest
	@ValueSource(strings = { "3.5.7", "2.7.18", "3.0.0-M1" })
	@DisplayName("An old Spring Boot is refused with the version that is needed")
	void old(String version) {
		assertThatIllegalStateException().isThrownBy(() -> StartInitializer.checkSpringBoot(version))
			.withMessageContaining("Holdfast needs Spring Boot 4, and this application has Spring Boot " + version);
	}

	@ParameterizedTest
	@NullSource
	@ValueSource(strings = { "4.0.0", "4.1.1", "5.0.0-M1", "10.0.0", "unknown" })
	@DisplayName("Others are not")
	void recent(@Nullable String version) {
		assertThatCode(() -> StartInitializer.checkSpringBoot(version)).doesNotThrowAnyException();
	}

	static class Shop {

		@DistributedLock(key = "#sku")
		public void sell(String sku) {
		}

		@Semaphore(limit = 1)
		public void locate() {
		}

	}

	@DistributedLock
	static class Stock {

		public void count() {
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Guarded {

		@Bean
		Shop shop() {
			return new Shop();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration(exclude = HoldfastAopAutoConfiguration.class)
	static class WithoutAop {

		@Bean
		Shop shop() {
			return new Shop();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration(exclude = { HoldfastAutoConfiguration.class, HoldfastAopAutoConfiguration.class })
	static class WithoutHoldfast {

		@Bean
		Stock stock() {
			return new Stock();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration(exclude = HoldfastAopAutoConfiguration.class)
	static class Unannotated {

	}

}
