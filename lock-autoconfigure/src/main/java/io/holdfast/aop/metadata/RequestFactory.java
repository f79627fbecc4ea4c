package io.holdfast.aop.metadata;

import java.util.List;
import java.util.function.Function;

import io.holdfast.aop.expression.KeyExpression;
import org.jspecify.annotations.Nullable;

/**
 * Makes the requests of an annotation from the arguments of calls. Thread-safe.
 *
 * @param <R> the type of the requests
 * @param name the key of all calls, if there is no expression
 * @param key the expression for the keys, or {@code null} for the name alone
 * @param one gives the whole request for a key
 * @param all gives the whole request for several keys. Both refuse what cannot be a key
 * with an {@link IllegalArgumentException}
 */
public record RequestFactory<R>(String name, @Nullable KeyExpression key, Function<String, R> one,
		Function<List<String>, R> all) {

	/**
	 * Return the request of a call.
	 * @param target the object that is called
	 * @param arguments the arguments
	 * @return the request
	 * @throws IllegalArgumentException if the call yields no key, or one that is refused
	 */
	public R request(@Nullable Object target, @Nullable Object[] arguments) {
		return (this.key != null) ? this.key.evaluate(target, arguments, this.one, this.all)
				: this.one.apply(this.name);
	}

}
