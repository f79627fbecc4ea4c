package io.holdfast.aop;

import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.beans.factory.config.BeanPostProcessor;

/**
 * Moves the validation of {@code @Validated} beans outside their locks and permits, so
 * that calls with invalid arguments do not wait.
 *
 * <p>
 * Spring adds validation inside all other advice of a bean. This post-processor has no
 * order, so that it runs after Spring's.
 */
public final class ValidationAdvicePostProcessor implements BeanPostProcessor, AopInfrastructureBean {

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (bean instanceof Advised advised && !advised.isFrozen()) {
			int place = -1;
			Advisor[] advisors = advised.getAdvisors();
			for (int i = 0; i < advisors.length; i++) {
				if (place < 0 && isLease(advisors[i])) {
					place = i;
				}
				else if (place >= 0 && AdviceClassifier.isValidation(advisors[i])) {
					advised.removeAdvisor(i);
					advised.addAdvisor(place++, advisors[i]);
				}
			}
		}
		return bean;
	}

	/**
	 * Return whether an advisor is that of leases. Does not request the advice of other
	 * advisors, which may create a bean too early.
	 */
	private static boolean isLease(Advisor advisor) {
		return advisor instanceof DefaultPointcutAdvisor && advisor.getAdvice() instanceof LeaseInterceptor;
	}

}
