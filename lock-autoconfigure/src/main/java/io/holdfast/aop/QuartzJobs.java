package io.holdfast.aop;

import java.lang.reflect.Method;

import org.jspecify.annotations.Nullable;

import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

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
		// By the interface, which a native image knows: it has no methods of other types.
		Method getJobClass = (DETAIL != null && DETAIL.isInstance(bean))
				? ReflectionUtils.findMethod(DETAIL, "getJobClass") : null;
		return (getJobClass != null) ? (Class<?>) ReflectionUtils.invokeMethod(getJobClass, bean) : null;
	}

}
