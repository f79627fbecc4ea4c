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
 * Optional bean of the application, which may be a singleton or have a scope.
 * Thread-safe.
 *
 * @param <T> the type of the bean
 */
public final class ApplicationBean<T> {

	private final Supplier<? extends AutowireCapableBeanFactory> beans;

	private final Class<T> type;

	/**
	 * Supplier of the bean, empty if there is none. {@code null} before the first lookup.
	 * Not guarded by a lock, which could cause a deadlock with the creation of beans.
	 */
	private volatile @Nullable Optional<Supplier<T>> found;

	/**
	 * Create a holder, which looks the bean up on first use.
	 * @param beans supplies the bean factory
	 * @param type the type of the bean
	 */
	public ApplicationBean(Supplier<? extends AutowireCapableBeanFactory> beans, Class<T> type) {
		this.beans = beans;
		this.type = type;
	}

	/**
	 * Return the supplier of the bean. Creates no scoped bean outside its scope.
	 * @return the supplier, which throws an exception outside the bean's scope; empty if
	 * the application has no such bean
	 * @throws InvalidDeclarationException if the application has several such beans, and
	 * none is primary
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
	 * @return the bean in the current scope, or {@code null} if the application has none
	 * @throws InvalidDeclarationException if the application has several such beans, and
	 * none is primary
	 */
	public @Nullable T get() {
		Supplier<T> supplier = find().orElse(null);
		return (supplier != null) ? supplier.get() : null;
	}

	/** Return the given holder, or {@code null} if the application has no such bean. */
	static <T> @Nullable ApplicationBean<T> ifAny(@Nullable ApplicationBean<T> bean) {
		return (bean != null && bean.find().isPresent()) ? bean : null;
	}

	private @Nullable Supplier<T> lookUp() {
		Supplier<T> ofScope = () -> this.beans.get().getBean(this.type);
		try {
			NamedBeanHolder<T> named = this.beans.get().resolveNamedBean(this.type);
			T bean = named.getBeanInstance();
			return this.beans.get().isSingleton(named.getBeanName()) ? () -> bean : ofScope;
		}
		catch (ScopeNotActiveException ex) {
			return ofScope;
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

}
