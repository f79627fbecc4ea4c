package io.holdfast.actuate;

import java.time.Instant;
import java.util.function.Supplier;

import io.holdfast.engine.Fleet;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;

/**
 * What both endpoints do with what they are asked.
 */
final class Endpoints {

	private static final int DEFAULT_LIMIT = 100;

	private static final int MAX_LIMIT = 1000;

	private Endpoints() {
	}

	static int limit(@Nullable Integer limit) {
		int wanted = (limit != null) ? limit : DEFAULT_LIMIT;
		if (wanted < 1 || wanted > MAX_LIMIT) {
			throw invalid("The limit of a page is " + wanted + ", which is not from 1 to " + MAX_LIMIT, null);
		}
		return wanted;
	}

	/** A key may contain slashes, at which its path was split. */
	static String key(String... segments) {
		return String.join("/", segments);
	}

	/** Do what refuses what makes no sense, and have the caller told so. */
	static <T> T checked(Supplier<T> action) {
		try {
			return action.get();
		}
		catch (IllegalArgumentException ex) {
			throw invalid(String.valueOf(ex.getMessage()), ex);
		}
	}

	private static InvalidEndpointRequestException invalid(String message, @Nullable Throwable cause) {
		return new InvalidEndpointRequestException(message, message, cause);
	}

	static InstanceView self(Fleet fleet, Instant now) {
		return new InstanceView(fleet.instance(), null, null, null, now.minus(fleet.age()), null);
	}

}
