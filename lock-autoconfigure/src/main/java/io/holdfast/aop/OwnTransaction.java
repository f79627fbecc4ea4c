package io.holdfast.aop;

import io.holdfast.jdbc.TransactionFences;
import java.util.List;
import java.util.Set;

import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.annotation.BeanFactoryAnnotationUtils;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.interceptor.TransactionAttributeSource;
import org.springframework.transaction.interceptor.TransactionInterceptor;
import org.springframework.util.StringUtils;

/**
 * Transaction of a fenced method itself, which advice inside the lock begins. Needs
 * spring-tx.
 */
final class OwnTransaction {

	/** Propagations that begin a transaction if the caller has none. */
	private static final Set<Integer> BEGINNING = Set.of(TransactionDefinition.PROPAGATION_REQUIRED,
			TransactionDefinition.PROPAGATION_REQUIRES_NEW, TransactionDefinition.PROPAGATION_NESTED);

	private OwnTransaction() {
	}

	/**
	 * Return whether the first action of a call under its lock is to begin a transaction
	 * that may write to the only fenced database. The check of this transaction then
	 * raises the token in time.
	 */
	static boolean raisesToken(MethodInvocation invocation, Class<?> targetClass, BeanFactory beans) {
		TransactionInterceptor advice = advice(invocation, targetClass);
		TransactionAttributeSource source = (advice != null) ? advice.getTransactionAttributeSource() : null;
		TransactionAttribute attribute = (source != null)
				? source.getTransactionAttribute(invocation.getMethod(), targetClass) : null;
		if (advice == null || attribute == null || attribute.isReadOnly()
				|| !BEGINNING.contains(attribute.getPropagationBehavior())) {
			return false;
		}
		TransactionManager manager = manager(advice, attribute, targetClass, beans);
		return manager != null && beans.getBean(TransactionFences.class).coversAlone(manager);
	}

	/**
	 * Return the advice next to that of the lock if it is for transactions, or
	 * {@code null}.
	 */
	private static @Nullable TransactionInterceptor advice(MethodInvocation invocation, Class<?> targetClass) {
		List<Advisor> advisors = AdviceClassifier.advisors(invocation, targetClass);
		for (int i = 1; i < advisors.size(); i++) {
			if (advisors.get(i - 1).getAdvice() instanceof LeaseInterceptor) {
				// Other advice may read data before the transaction begins.
				return (advisors.get(i).getAdvice() instanceof TransactionInterceptor found) ? found : null;
			}
		}
		return null;
	}

	/**
	 * Return the transaction manager that the advice will use, or {@code null} if that is
	 * uncertain.
	 */
	private static @Nullable TransactionManager manager(TransactionInterceptor advice, TransactionAttribute attribute,
			Class<?> targetClass, BeanFactory beans) {
		if (StringUtils.hasText(attribute.getQualifier())) {
			return BeanFactoryAnnotationUtils.qualifiedBeanOfType(beans, TransactionManager.class,
					attribute.getQualifier());
		}
		if (BeanFactoryAnnotationUtils.getQualifierValue(targetClass) != null) {
			return null;
		}
		if (advice.getTransactionManager() != null) {
			return advice.getTransactionManager();
		}
		boolean single = beans instanceof ListableBeanFactory listable
				&& BeanFactoryUtils.beanNamesForTypeIncludingAncestors(listable, TransactionManager.class).length == 1;
		return single ? beans.getBean(TransactionManager.class) : null;
	}

}
