package io.holdfast.aop;

import java.util.Optional;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.NoUniqueBeanDefinitionException;
import org.springframework.beans.factory.config.AutowireCapableBeanFactory;
import org.springframework.beans.factory.config.NamedBeanHolder;
import org.springframework.beans.factory.support.ScopeNotActiveException;

/**
 * A bean that an application may have, of which there is one for all calls; or one for
 * each call, by its scope. Thread-safe.
 *
 * @param <T> its type
 */
public final class ApplicationBean<T> {

	private final Supplier<? extends AutowireCapableBeanFactory> beans;

	private final Class<T> type;

	/** Not guarded: a lock held while a bean is looked up could wait for its creator. */
	private volatile @Nullable Optional<Supplier<T>> found;

	/**
	 * Create a holder that looks for the bean when it is asked for first.
	 * @param beans gives the factory that has it
	 * @param type its type
	 */
	public ApplicationBean(Supplier<? extends AutowireCapableBeanFactory> beans, Class<T> type) {
		this.beans = beans;
		this.type = type;
	}

	/**
	 * Return the supplier of the bean. Creates nothing that is not in its scope now.
	 * @return gives it to each call, or throws if the call is not in its scope; empty if
	 * the application has no such bean
	 * @throws InvalidDeclarationException if it has several, of which none is primary
	 */
	public Optional<Supplier<T>> find() {
		Optional<Supplier<T>> known = this.found;
		if (known == null) {
			known = Optional.ofNullable(lookUp());
			this.found = known;
		}
		return known;
	}

	/**
	 * Return the bean.
	 * @return the bean for the current call, or {@code null} if the application has none
	 * @throws InvalidDeclarationException if it has several, of which none is primary
	 */
	public @Nullable T get() {
		Supplier<T> supplier = find().orElse(null);
		return (supplier != null) ? supplier.get() : null;
	}

	/** Return a bean again; or {@code null}, for good, if the application has none. */
	static <T> @Nullable ApplicationBean<T> ifAny(@Nullable ApplicationBean<T> bean) {
		return (bean != null && bean.find().isPresent()) ? bean : null;
	}

	private @Nullable Supplier<T> lookUp() {
		try {
			NamedBeanHolder<T> named = this.beans.get().resolveNamedBean(this.type);
			T bean = named.getBeanInstance();
			return this.beans.get().isSingleton(named.getBeanName()) ? () -> bean : this::ofScope;
		}
		catch (ScopeNotActiveException ex) {
			return this::ofScope;
		}
		catch (NoUniqueBeanDefinitionException ex) {
			throw new InvalidDeclarationException(
					"There are several beans of type " + this.type.getSimpleName() + ": " + ex.getBeanNamesFound(),
					"Mark one as @Primary")
				.causedBy(ex);
		}
		catch (NoSuchBeanDefinitionException ex) {
			return null;
		}
	}

	private T ofScope() {
		return this.beans.get().getBean(this.type);
	}

}
