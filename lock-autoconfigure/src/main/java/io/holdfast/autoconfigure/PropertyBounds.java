package io.holdfast.autoconfigure;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.Ordered;
import org.springframework.format.annotation.DurationFormat.Style;
import org.springframework.format.datetime.standard.DurationFormatterUtils;

/**
 * Checks of the values of properties. Names of properties are without the prefix
 * {@code holdfast.}
 */
final class PropertyBounds {

	private static final Duration MAX = Duration.ofDays(365);

	private PropertyBounds() {
	}

	/**
	 * Refuse a value that is not allowed, with a reason that describes allowed values.
	 */
	static void check(boolean allowed, String property, @Nullable Object value, String reason) {
		if (!allowed) {
			throw new InvalidConfigurationPropertyValueException("holdfast." + property,
					(value instanceof Duration time) ? text(time) : value, reason);
		}
	}

	/** Return a time as it is written in properties. */
	static String text(Duration time) {
		return DurationFormatterUtils.print(time, Style.COMPOSITE);
	}

	/** Refuse a number below 1. */
	static void checkLimit(String property, int limit) {
		check(limit >= 1, property, limit, "it must be at least 1");
	}

	/**
	 * Refuse the highest and the lowest precedence, which belong to auto-proxy creators,
	 * which must come before, and to post-processors that register listeners, which must
	 * come after.
	 */
	static void checkOrder(String property, int order) {
		check(order != Ordered.HIGHEST_PRECEDENCE && order != Ordered.LOWEST_PRECEDENCE, property, order,
				"it must be at least " + (Ordered.HIGHEST_PRECEDENCE + 1) + " and at most "
						+ (Ordered.LOWEST_PRECEDENCE - 1));
	}

	/** Refuse a negative wait time other than -1, which means no limit. */
	static void checkWait(String property, Duration waitTime) {
		if (!waitTime.equals(Duration.ofMillis(-1))) {
			check(!waitTime.isNegative(), property, waitTime, "it must be at least 0, or -1 to wait without limit");
			checkBounds(Duration.ZERO, property, waitTime);
		}
	}

	/** Refuse a time below a minimum, or of more than a year. */
	static void checkBounds(Duration min, String property, @Nullable Duration value) {
		if (value != null) {
			check(value.compareTo(min) >= 0, property, value, "it must be at least " + text(min));
			check(value.compareTo(MAX) <= 0, property, value, "it must be at most " + MAX.toDays() + "d");
		}
	}

}
