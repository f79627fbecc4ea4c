package io.holdfast.testing;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;

/**
 * Wrong clock of a process, which classes call in place of the JDK's methods; see
 * {@link ClockAgent}. Shifts the time of day. {@link System#nanoTime()} stays the same,
 * as when the clock of a machine is set. Thread-safe.
 */
public final class ShiftedClock {

	private static volatile Duration shift = Duration.ZERO;

	private ShiftedClock() {
	}

	/**
	 * Shift the clock.
	 * @param difference the difference from the right time
	 */
	public static void shiftBy(Duration difference) {
		shift = difference;
	}

	/**
	 * Replacement of {@link System#currentTimeMillis()}.
	 * @return the wrong time
	 */
	public static long currentTimeMillis() {
		return System.currentTimeMillis() + shift.toMillis();
	}

	/**
	 * Replacement of {@link Instant#now()}.
	 * @return the wrong time
	 */
	public static Instant now() {
		return Instant.now().plus(shift);
	}

	/**
	 * Replacement of {@link Clock#systemUTC()}.
	 * @return a clock with the current difference
	 */
	public static Clock systemUTC() {
		return Clock.offset(Clock.systemUTC(), shift);
	}

	/**
	 * Replacement of {@link Clock#systemDefaultZone()}.
	 * @return a clock with the current difference
	 */
	public static Clock systemDefaultZone() {
		return Clock.offset(Clock.systemDefaultZone(), shift);
	}

	/**
	 * Replacement of {@link Clock#system(ZoneId)}.
	 * @param zone the time zone
	 * @return a clock with the current difference
	 */
	public static Clock system(ZoneId zone) {
		return Clock.offset(Clock.system(zone), shift);
	}

}
