package io.holdfast.autoconfigure;

import java.util.List;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.InvalidDeclarationException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.Ordered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Warnings and failures of a start that leaves methods unguarded, or with an old Spring
 * Boot.
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
	@DisplayName("Annotations without effect give one warning with the methods")
	void unguarded(CapturedOutput output) {
		run(WithoutAop.class);
		assertThat(output.toString()).containsOnlyOnce(WARNING)
			.contains("not part of this context: " + Shop.class.getName())
			.contains(" and 1 more. In the test of a slice, add @AutoConfigureHoldfast of lock-starter-test");
	}

	@Test
	@DisplayName("There is no warning if annotations are in effect, absent or switched off")
	void quiet(CapturedOutput output) {
		run(Guarded.class);
		run(Unannotated.class);
		run(WithoutAop.class, "--holdfast.aop.enabled=false");
		run(WithoutHoldfast.class, "--holdfast.enabled=false");
		assertThat(output).doesNotContain(WARNING);
	}

	@Test
	@DisplayName("A child context gives one warning, unless the auto-configuration of the annotations is imported")
	void child(CapturedOutput output) {
		SpringApplicationBuilder application = new SpringApplicationBuilder(Guarded.class).web(WebApplicationType.NONE)
			.properties("holdfast.backend=memory");
		try (ConfigurableApplicationContext parent = application.run()) {
			try (ConfigurableApplicationContext child = child(parent, Shop.class, HoldfastAopAutoConfiguration.class)) {
				assertThat(AopUtils.isAopProxy(child.getBean(Shop.class))).isTrue();
			}
			application.child(Guarded.class).run().close();
			assertThat(output).doesNotContain(WARNING);
			child(parent, Shop.class).close();
			assertThat(output.toString()).containsOnlyOnce(WARNING)
				.contains("in a child context, import HoldfastAopAutoConfiguration");
			application.child(WithoutAop.class).run().close();
			assertThat(output.toString().split(WARNING, -1)).as("output around the warnings").hasSize(3);
		}
	}

	private static ConfigurableApplicationContext child(ConfigurableApplicationContext parent, Class<?>... beans) {
		AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext();
		child.setParent(parent);
		child.register(beans);
		child.refresh();
		return child;
	}

	@Test
	@DisplayName("An annotated bean that a post-processor needs too early stops the start")
	void early() {
		assertThatExceptionOfType(BeanCreationException.class).isThrownBy(() -> run(Early.class))
			.havingRootCause()
			.isInstanceOf(InvalidDeclarationException.class)
			.withMessageStartingWith("Annotated methods of bean 'shop' would run without locks and permits")
			.withMessageContaining("added: " + Shop.class.getName())
			.withMessageContaining("needed early by [needy]. Inject an ObjectProvider");
	}

	@Test
	@DisplayName("An annotated bean that a post-processor needs late enough is guarded")
	void lateEnough() {
		for (Class<?> application : List.of(Provided.class, Unordered.class)) {
			try (ConfigurableApplicationContext context = new SpringApplicationBuilder(application)
				.web(WebApplicationType.NONE)
				.properties("holdfast.backend=memory")
				.run()) {
				assertThat(AopUtils.isAopProxy(context.getBean(Shop.class))).isTrue();
			}
		}
	}

	@Test
	@DisplayName("A type's annotation gives the warning, too")
	void type(CapturedOutput output) {
		run(WithoutHoldfast.class);
		assertThat(output.toString()).containsOnlyOnce(WARNING).contains(Stock.class.getName() + ".count");
	}

	@Test
	@DisplayName("A bean whose class cannot be loaded neither hides other beans nor stops the start")
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
	@DisplayName("An old Spring Boot is refused, with the required version")
	void old(String version) {
		assertThatIllegalStateException().isThrownBy(() -> StartInitializer.checkSpringBoot(version))
			.withMessageContaining("Holdfast needs Spring Boot 4, and this application has Spring Boot " + version);
	}

	@ParameterizedTest
	@NullSource
	@ValueSource(strings = { "4.0.0", "4.1.1", "5.0.0-M1", "10.0.0", "unknown" })
	@DisplayName("A recent Spring Boot is accepted")
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

	record Needy(Object shop) implements BeanPostProcessor, Ordered {

		@Override
		public int getOrder() {
			return 0;
		}

	}

	static class Early extends Guarded {

		@Bean
		static Needy needy(Shop shop) {
			return new Needy(shop);
		}

	}

	static class Provided extends Guarded {

		@Bean
		static Needy needy(ObjectProvider<Shop> shop) {
			return new Needy(shop);
		}

	}

	static class Unordered extends Guarded {

		@Bean
		static BeanPostProcessor needy(Shop shop) {
			return new BeanPostProcessor() {

				@Override
				public Object postProcessAfterInitialization(Object bean, String beanName) {
					assertThat(AopUtils.isAopProxy(shop)).isTrue();
					return bean;
				}

			};
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
