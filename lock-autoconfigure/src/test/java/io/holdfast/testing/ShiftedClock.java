package io.holdfast.testing;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;

/**
 * The clock of a process whose clock is wrong: what {@link ClockAgent} has classes call
 * instead of the JDK's. Shifts the time of day; {@link System#nanoTime()} goes on as
 * before, as it does when a machine's clock is set. Thread-safe.
 */
public final class ShiftedClock {

	private static volatile Duration shift = Duration.ZERO;

	private ShiftedClock() {
	}

	/**
	 * Set the clock wrong, from now on.
	 * @param difference how much later it is to be than it is
	 */
	public static void shiftBy(Duration difference) {
		shift = difference;
	}

	/**
	 * For {@link System#currentTimeMillis()}.
	 * @return the wrong time
	 */
	public static long currentTimeMillis() {
		return System.currentTimeMillis() + shift.toMillis();
	}

	/**
	 * For {@link Instant#now()}.
	 * @return the wrong time
	 */
	public static Instant now() {
		return Instant.now().plus(shift);
	}

	/**
	 * For {@link Clock#systemUTC()}.
	 * @return a clock that is as wrong as it is now
	 */
	public static Clock systemUTC() {
		return Clock.offset(Clock.systemUTC(), shift);
	}

	/**
	 * For {@link Clock#systemDefaultZone()}.
	 * @return a clock that is as wrong as it is now
	 */
	public static Clock systemDefaultZone() {
		return Clock.offset(Clock.systemDefaultZone(), shift);
	}

	/**
	 * For {@link Clock#system(ZoneId)}.
	 * @param zone its time zone
	 * @return a clock that is as wrong as it is now
	 */
	public static Clock system(ZoneId zone) {
		return Clock.offset(Clock.system(zone), shift);
	}

}
