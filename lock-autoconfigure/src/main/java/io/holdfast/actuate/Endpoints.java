package io.holdfast.actuate;

import java.security.Principal;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.fleet.StandingQuery;
import io.holdfast.engine.fleet.StandingQuery.Order;
import io.holdfast.engine.fleet.StandingQuery.State;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.SecurityContext;

/**
 * Converts and checks arguments of the endpoints.
 */
final class Endpoints {

	private static final Log logger = LogFactory.getLog(Endpoints.class);

	private static final Duration LONGEST_HOLD = Duration.ofDays(36_500);

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

	/**
	 * Return a key from the segments of a path. For reads only, because the server may
	 * have changed the path.
	 */
	static String key(String... segments) {
		return String.join("/", segments);
	}

	/**
	 * Run code that checks arguments. Converts an {@link IllegalArgumentException} to a
	 * response for the caller.
	 */
	static <T extends @Nullable Object> T checked(Supplier<T> action) {
		try {
			return action.get();
		}
		catch (IllegalArgumentException ex) {
			throw invalid(String.valueOf(ex.getMessage()), ex);
		}
	}

	/**
	 * Run code that changes the store. Logs a failure of the store, because the change
	 * may have been made all the same.
	 */
	static <T extends @Nullable Object> T changed(String what, SecurityContext by, Supplier<T> action) {
		return checked(() -> {
			try {
				return action.get();
			}
			catch (LeaseStoreException ex) {
				logger.warn(SingleLine.of(what + byUser(by) + ". " + ex.getMessage()));
				throw ex;
			}
		});
	}

	/**
	 * Return the query of a search. A request has either a cursor, a key or a search.
	 * @return the query, or {@code null} if the request is no search
	 */
	static @Nullable StandingQuery query(@Nullable String cursor, @Nullable String key, @Nullable String search,
			@Nullable State state, @Nullable Duration heldFor, @Nullable Order sort, @Nullable Integer page, int size) {
		boolean searched = search != null || state != null || heldFor != null || sort != null || page != null;
		if (Stream.of(cursor != null, key != null, searched).filter((given) -> given).count() > 1) {
			throw invalid("Give either 'cursor', or 'key', or a search by 'search', 'state', 'heldFor', 'sort'"
					+ " and 'page'", null);
		}
		if (!searched) {
			return null;
		}
		int wanted = (page != null) ? page : 1;
		if (wanted < 1) {
			throw invalid("The page is " + wanted + ", but the first one is 1", null);
		}
		if (heldFor != null && (heldFor.isNegative() || heldFor.compareTo(LONGEST_HOLD) > 0)) {
			throw invalid("'heldFor' is " + heldFor + ", which is not from 0 to 36500d: give a time such as 30s", null);
		}
		return new StandingQuery(search, state,
				(heldFor != null) ? micros(Instant.now().minus(heldFor)) : Long.MAX_VALUE,
				(sort != null) ? sort : Order.KEY, wanted, size);
	}

	static long micros(Instant time) {
		return ChronoUnit.MICROS.between(Instant.EPOCH, time);
	}

	/** Log a change by a user. */
	static void log(String what, SecurityContext by) {
		logger.info(SingleLine.of(what + byUser(by)));
	}

	private static String byUser(SecurityContext by) {
		Principal principal = by.getPrincipal();
		return " (requested at an endpoint by " + ((principal != null) ? principal.getName() : "an unknown user") + ")";
	}

	static InvalidEndpointRequestException invalid(String message, @Nullable Throwable cause) {
		String line = SingleLine.of(message);
		return new InvalidEndpointRequestException(line, line, cause);
	}

}
