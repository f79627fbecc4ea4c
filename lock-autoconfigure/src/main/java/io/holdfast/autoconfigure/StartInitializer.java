package io.holdfast.autoconfigure;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.support.BeanDefinitionRegistryPostProcessor;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.boot.SpringBootVersion;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Initializer of each context of an application. Refuses versions of Spring Boot that are
 * too old, and registers the checks for annotated methods that would run without locks
 * and permits.
 */
final class StartInitializer implements ApplicationContextInitializer<ConfigurableApplicationContext> {

	private static final int OLDEST_SPRING_BOOT = 4;

	@Override
	public void initialize(ConfigurableApplicationContext context) {
		checkSpringBoot(SpringBootVersion.getVersion());
		context.addApplicationListener(new UnguardedMethodsListener(context));
		context.addBeanFactoryPostProcessor((BeanDefinitionRegistryPostProcessor) (registry) -> {
			if (registry instanceof DefaultListableBeanFactory beans) {
				beans.addBeanPostProcessor(new EarlyBeans(beans));
			}
		});
	}

	/**
	 * Refuse a version of Spring Boot that is too old.
	 * @param version the version, or {@code null} if it is not known
	 */
	static void checkSpringBoot(@Nullable String version) {
		if (version != null && version.matches("\\d+\\..*")
				&& Integer.parseInt(version.substring(0, version.indexOf('.'))) < OLDEST_SPRING_BOOT) {
			throw new IllegalStateException(
					"Holdfast needs Spring Boot " + OLDEST_SPRING_BOOT + ", and this application has Spring Boot "
							+ version + ": upgrade Spring Boot, or remove Holdfast from the class path");
		}
	}

}
