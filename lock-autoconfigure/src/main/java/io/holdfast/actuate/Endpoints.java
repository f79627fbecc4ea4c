package io.holdfast.actuate;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.function.Supplier;

import io.holdfast.LeaseStoreException;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.store.InstanceInfo;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.http.HttpStatus;
import org.springframework.util.ClassUtils;
import org.springframework.web.server.ResponseStatusException;

/**
 * Converts and checks the arguments of both endpoints.
 */
final class Endpoints {

	private static final int DEFAULT_LIMIT = 100;

	private static final int MAX_LIMIT = 1000;

	/** Over JMX alone the exception is the answer. */
	private static final boolean WEB = ClassUtils.isPresent("org.springframework.web.server.ResponseStatusException",
			Endpoints.class.getClassLoader());

	private Endpoints() {
	}

	static int limit(@Nullable Integer limit) {
		int wanted = (limit != null) ? limit : DEFAULT_LIMIT;
		if (wanted < 1 || wanted > MAX_LIMIT) {
			throw invalid("The limit of a page is " + wanted + ", which is not from 1 to " + MAX_LIMIT, null);
		}
		return wanted;
	}

	/**
	 * A key may contain slashes, at which its path was split. What the server took out of
	 * the path is lost, so this is for reading only.
	 */
	static String key(String... segments) {
		return String.join("/", segments);
	}

	/** Do what refuses what makes no sense, and have the caller told so. */
	static <T extends @Nullable Object> T checked(Supplier<T> action) {
		try {
			return action.get();
		}
		catch (IllegalArgumentException ex) {
			throw invalid(String.valueOf(ex.getMessage()), ex);
		}
	}

	/**
	 * Do what there is no answer to while the store fails, and have the caller told so:
	 * there is nothing wrong with the request, nor with this instance.
	 */
	static <T extends @Nullable Object> T answered(Supplier<T> action) {
		try {
			return checked(action);
		}
		catch (LeaseStoreException ex) {
			throw WEB ? Web.unavailable(ex) : ex;
		}
	}

	static InvalidEndpointRequestException invalid(String message, @Nullable Throwable cause) {
		return new InvalidEndpointRequestException(message, message, cause);
	}

	/** By the store's clock, as the others, if it is among those that are known. */
	static InstanceDescriptor self(Fleet fleet, Instant here, List<InstanceDescriptor> members) {
		InstanceInfo info = fleet.info();
		Instant started = members.stream()
			.filter((member) -> member.id().equals(fleet.instance()))
			.map(InstanceDescriptor::started)
			.findFirst()
			.orElse(here);
		return (info != null) ? new InstanceDescriptor(fleet.instance(), info.application(), info.host(),
				info.process(), started, null)
				: new InstanceDescriptor(fleet.instance(), null, null, null, started, null);
	}

	/** Since when this instance is there, by its own clock. */
	static Instant started(Fleet fleet) {
		return Instant.now().minus(fleet.age()).truncatedTo(ChronoUnit.MILLIS);
	}

	static List<InstanceDescriptor> members(Fleet fleet) {
		return fleet.members().stream().map((member) -> {
			InstanceInfo info = member.info();
			return new InstanceDescriptor(member.instance(), info.application(), info.host(), info.process(),
					Instant.ofEpochMilli(member.startedMillis()), Instant.ofEpochMilli(member.seenMillis()));
		}).toList();
	}

	private static final class Web {

		static RuntimeException unavailable(LeaseStoreException ex) {
			return new ResponseStatusException(HttpStatus.SERVICE_UNAVAILABLE, ex.getMessage(), ex);
		}

	}

}
