package io.holdfast.aop;

import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.beans.factory.config.BeanPostProcessor;

/**
 * Moves the validation of {@code @Validated} beans in front of their locks and permits:
 * nothing is waited for by a call whose arguments are refused.
 *
 * <p>
 * Spring adds validation after all other advice of a bean. This post-processor has no
 * order, so that it comes later.
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
				else if (place >= 0 && OtherAdvice.isValidation(advisors[i])) {
					advised.removeAdvisor(i);
					advised.addAdvisor(place++, advisors[i]);
				}
			}
		}
		return bean;
	}

	/**
	 * Asks no other advisor for its advice, which might be a bean that is not needed yet.
	 */
	private static boolean isLease(Advisor advisor) {
		return advisor instanceof DefaultPointcutAdvisor && advisor.getAdvice() instanceof LeaseInterceptor;
	}

}
