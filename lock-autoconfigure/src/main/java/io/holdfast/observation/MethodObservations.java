package io.holdfast.observation;

import java.lang.reflect.Method;

import io.holdfast.aop.observe.MethodObserver;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.contextpropagation.ObservationThreadLocalAccessor;
import org.jspecify.annotations.Nullable;

/**
 * Has calls of annotated methods observed: what is observed of their locks and permits,
 * and by what they do, are its children. Thread-safe.
 */
public final class MethodObservations implements MethodObserver {

	private static final MethodObservationConvention DEFAULT = new DefaultMethodObservationConvention();

	private final ObservationRegistry registry;

	private final Children children;

	private final @Nullable ObservationConvention<MethodObservationContext> convention;

	/**
	 * Create the observer.
	 * @param registry where observations go
	 * @param convention how they are named and tagged; {@code null} for the default
	 */
	public MethodObservations(ObservationRegistry registry, @Nullable MethodObservationConvention convention) {
		this.registry = registry;
		this.children = new Children(registry);
		this.convention = GuardedConvention.of(convention, DEFAULT);
	}

	@Override
	public Object contextKey() {
		return ObservationThreadLocalAccessor.KEY;
	}

	@Override
	public Call began(Method method, Class<?> targetClass, @Nullable Object parent) {
		MethodObservationContext context = new MethodObservationContext(method, targetClass);
		Observation outer = (parent instanceof Observation known) ? known : this.registry.getCurrentObservation();
		Observation observation = this.children.start(outer, true, () -> HoldfastObservationDocumentation.METHOD
			.observation(this.convention, DEFAULT, () -> context, this.registry));
		return new ObservedCall(observation);
	}

	private record ObservedCall(Observation observation) implements Call {

		@Override
		public ObservationScope open() {
			return this.observation.openScope()::close;
		}

		@Override
		public Object contextValue() {
			return this.observation;
		}

		@Override
		public void ended(@Nullable Throwable failure) {
			if (failure != null) {
				this.observation.error(failure);
			}
			this.observation.stop();
		}

	}

}
