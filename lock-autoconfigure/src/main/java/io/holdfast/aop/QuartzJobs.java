package io.holdfast.aop;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.util.ClassUtils;

/**
 * The jobs of Quartz, which are created when they run: the start knows them by their
 * details only. The library need not be there.
 */
final class QuartzJobs {

	private static final @Nullable Class<?> DETAIL = detail();

	private QuartzJobs() {
	}

	private static @Nullable Class<?> detail() {
		ClassLoader loader = QuartzJobs.class.getClassLoader();
		return ClassUtils.isPresent("org.quartz.JobDetail", loader)
				? ClassUtils.resolveClassName("org.quartz.JobDetail", loader) : null;
	}

	/**
	 * Return the class of the job, or {@code null} if the bean is not the details of one.
	 */
	static @Nullable Class<?> classOf(Object bean) {
		return (DETAIL != null && DETAIL.isInstance(bean))
				? (Class<?>) PropertyAccessorFactory.forBeanPropertyAccess(bean).getPropertyValue("jobClass") : null;
	}

}
