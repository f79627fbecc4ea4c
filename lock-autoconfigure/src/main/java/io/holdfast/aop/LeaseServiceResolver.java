package io.holdfast.aop;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;

import io.holdfast.aop.metadata.LeaseOperation;
import io.holdfast.aop.method.InvalidDeclarationException;
import io.holdfast.jdbc.TransactionFences;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.BeanNotOfRequiredTypeException;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.NoUniqueBeanDefinitionException;
import org.springframework.util.Assert;
import org.springframework.util.StringUtils;

/**
 * Finds the beans that grant what annotations ask for. Each is looked up at a method's
 * first call, so that advised beans may be created before it. When all beans are there, a
 * name that means no such bean is refused, and so is a lack of any. Thread-safe.
 *
 * @param <S> the type of the service
 */
final class LeaseServiceResolver<S> {

	private final Class<S> type;

	private final Supplier<S> unnamed;

	private final Queue<LeaseOperation<?>> unchecked = new ConcurrentLinkedQueue<>();

	private volatile boolean complete;

	private volatile @Nullable BeanFactory beans;

	/**
	 * Create it.
	 * @param unnamed gives the bean that is meant when none is named
	 */
	LeaseServiceResolver(Class<S> type, Supplier<S> unnamed) {
		this.type = type;
		this.unnamed = unnamed;
	}

	void setBeanFactory(BeanFactory beans) {
		this.beans = beans;
	}

	/**
	 * Return the service that an operation names. Not guarded: a lock held while a bean
	 * is looked up could wait for its creator.
	 * @throws InvalidDeclarationException if there is no such bean
	 */
	S find(LeaseOperation<?> operation) {
		if (operation.service().isEmpty()) {
			return this.unnamed.get();
		}
		check(operation);
		try {
			return beans().getBean(operation.service(), this.type);
		}
		catch (BeanNotOfRequiredTypeException ex) {
			throw notOfType(operation, ex.getActualType());
		}
	}

	/**
	 * Check the name in an operation: now if all beans are there, else later.
	 * @throws InvalidDeclarationException if there is no such bean
	 */
	void expect(LeaseOperation<?> operation) {
		this.unchecked.add(operation);
		if (this.complete) {
			checkExpected();
		}
	}

	/**
	 * Check what was expected so far, once all beans are there.
	 * @throws InvalidDeclarationException if something is not there
	 */
	void checkExpected() {
		this.complete = true;
		for (LeaseOperation<?> operation = this.unchecked.poll(); operation != null; operation = this.unchecked
			.poll()) {
			check(operation);
		}
	}

	/**
	 * Check a name without creating its bean: what only the bean tells is left for later.
	 */
	private void check(LeaseOperation<?> operation) {
		checkService(operation);
		if (operation.fenced()) {
			checkFence(operation);
		}
	}

	/** Fail where each call would, as no transaction of it could be checked. */
	private void checkFence(LeaseOperation<?> operation) {
		TransactionFences fences = beans().getBeanProvider(TransactionFences.class).getIfAvailable();
		String obstacle = (fences != null) ? fences.obstacle()
				: "there is no bean for it: add spring-jdbc and a DataSource, with spring-boot-starter-jdbc or "
						+ "spring-boot-starter-data-jpa, and do not exclude HoldfastFenceAutoConfiguration";
		if (obstacle != null) {
			int cure = obstacle.indexOf(": ");
			throw operation.annotatedMethod()
				.invalid("is fenced, which is not possible, because " + obstacle.substring(0, cure),
						StringUtils.capitalize(obstacle.substring(cure + 2)), null);
		}
	}

	private void checkService(LeaseOperation<?> operation) {
		String name = operation.service();
		if (name.isEmpty()) {
			checkUnnamed(operation);
			return;
		}
		if (!beans().containsBean(name)) {
			throw operation.annotatedMethod()
				.invalid("service", name, "is the name of no bean",
						"Write the name of a " + this.type.getSimpleName() + ", or leave it out for the only one",
						null);
		}
		Class<?> actual = beans().getType(name, false);
		if (actual != null && !this.type.isAssignableFrom(actual) && !actual.isAssignableFrom(this.type)) {
			throw notOfType(operation, actual);
		}
	}

	/** Fail as each call would if there is no such bean, or none of several is meant. */
	private void checkUnnamed(LeaseOperation<?> operation) {
		if (!(beans() instanceof ListableBeanFactory listable)
				|| BeanFactoryUtils.beanNamesForTypeIncludingAncestors(listable, this.type, true, false).length == 1) {
			return;
		}
		try {
			this.unnamed.get();
		}
		catch (NoUniqueBeanDefinitionException ex) {
			throw operation.annotatedMethod()
				.invalid(
						"names no service, and there are several beans of type " + this.type.getSimpleName() + ": "
								+ ex.getBeanNamesFound(),
						"Name one by the attribute service, or mark one as @Primary, or the others as no default"
								+ " candidates",
						ex);
		}
	}

	private InvalidDeclarationException notOfType(LeaseOperation<?> operation, Class<?> actual) {
		return operation.annotatedMethod()
			.invalid("service", operation.service(),
					"is the name of a bean of type " + actual.getTypeName() + ", which is no "
							+ this.type.getSimpleName(),
					"Write the name of a " + this.type.getSimpleName() + ", or leave it out for the only one", null);
	}

	private BeanFactory beans() {
		BeanFactory factory = this.beans;
		Assert.state(factory != null, "There is no bean factory to look a service up");
		return factory;
	}

}
