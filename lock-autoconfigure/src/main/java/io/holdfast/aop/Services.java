package io.holdfast.aop;

import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanNotOfRequiredTypeException;
import org.springframework.util.Assert;

/**
 * The beans that grant what annotations ask for. They are looked up at the first call
 * that needs them, so that advised beans may be created before them; but names that mean
 * no such bean are refused when all beans are there. Thread-safe.
 *
 * @param <S> the type of the service
 */
final class Services<S> {

	private final Class<S> type;

	private final Supplier<S> unnamed;

	private final Map<String, S> known = new ConcurrentHashMap<>();

	private final Queue<Plan<?>> unchecked = new ConcurrentLinkedQueue<>();

	private volatile boolean complete;

	private volatile @Nullable BeanFactory beans;

	/**
	 * Create it.
	 * @param type the type of the service
	 * @param unnamed gives the bean that is meant when none is named
	 */
	Services(Class<S> type, Supplier<S> unnamed) {
		this.type = type;
		this.unnamed = unnamed;
	}

	void setBeanFactory(BeanFactory beans) {
		this.beans = beans;
	}

	/**
	 * Return the service that a plan names. Not guarded: a lock held while a bean is
	 * looked up could wait for its creator.
	 * @param plan the plan
	 * @return the service
	 * @throws InvalidDeclarationException if there is no such bean
	 */
	S get(Plan<?> plan) {
		S service = this.known.get(plan.service());
		if (service == null) {
			service = plan.service().isEmpty() ? this.unnamed.get() : lookUp(plan);
			this.known.put(plan.service(), service);
		}
		return service;
	}

	private S lookUp(Plan<?> plan) {
		check(plan);
		try {
			return beans().getBean(plan.service(), this.type);
		}
		catch (BeanNotOfRequiredTypeException ex) {
			throw notOfType(plan, ex.getActualType());
		}
	}

	/**
	 * Check the name in a plan: now if all beans are there, else later.
	 * @param plan the plan
	 * @throws InvalidDeclarationException if there is no such bean
	 */
	void expect(Plan<?> plan) {
		if (!plan.service().isEmpty()) {
			this.unchecked.add(plan);
			if (this.complete) {
				checkExpected();
			}
		}
	}

	/**
	 * All beans are there: check what was expected so far.
	 * @throws InvalidDeclarationException if something is not there
	 */
	void checkExpected() {
		this.complete = true;
		for (Plan<?> plan = this.unchecked.poll(); plan != null; plan = this.unchecked.poll()) {
			check(plan);
		}
	}

	/** Creates nothing: what can only be told from the bean itself is left for later. */
	private void check(Plan<?> plan) {
		String name = plan.service();
		if (!beans().containsBean(name)) {
			throw plan.declaration()
				.invalid("service", name, "is the name of no bean",
						"Write the name of a " + this.type.getSimpleName() + ", or leave it out for the only one",
						null);
		}
		Class<?> actual = beans().getType(name, false);
		if (actual != null && !this.type.isAssignableFrom(actual) && !actual.isAssignableFrom(this.type)) {
			throw notOfType(plan, actual);
		}
	}

	private InvalidDeclarationException notOfType(Plan<?> plan, Class<?> actual) {
		return plan.declaration()
			.invalid("service", plan.service(),
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
