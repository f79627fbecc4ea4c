package io.holdfast.aop;

import java.util.List;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

/**
 * What an annotation asks for, but for what the arguments of the call add. Thread-safe.
 *
 * @param <R> the type of the requests
 * @param name the key, or what stands before the expression's value
 * @param key the expression for the keys, or {@code null} for the name alone
 * @param requests gives the whole request for its keys, or refuses them with an
 * {@link IllegalArgumentException}
 */
record RequestTemplate<R>(String name, @Nullable KeyExpression key, Function<List<String>, R> requests) {

	/**
	 * The request of a call.
	 * @param target the object that is called
	 * @param arguments the arguments
	 * @return the request
	 * @throws IllegalArgumentException if the call yields no key, or one that is refused
	 */
	R request(@Nullable Object target, @Nullable Object[] arguments) {
		if (this.key == null) {
			return this.requests.apply(List.of(this.name));
		}
		List<String> keys = this.key.evaluate(target, arguments);
		if (!this.name.isEmpty()) {
			keys = keys.stream().map((text) -> this.name + ":" + text).toList();
		}
		try {
			return this.requests.apply(keys);
		}
		catch (IllegalArgumentException ex) {
			throw new IllegalArgumentException(this.key + " yields text that cannot be a key: " + ex.getMessage(), ex);
		}
	}

}
