package io.holdfast.aop;

import java.sql.Time;
import java.sql.Timestamp;
import java.util.Arrays;
import java.util.Calendar;
import java.util.Collection;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TimeZone;
import java.util.UUID;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.aop.framework.ProxyFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Keys from values whose text differs between instances although the values are equal.
 */
class UnstableKeyTests extends LockedTestCase {

	private static final Date DATE = new Date(1_000_000_000_000L);

	private static final Timestamp TIMESTAMP = new Timestamp(1_000_000_000_000L);

	private static final java.sql.Date SQL_DATE = new java.sql.Date(1_000_000_000_000L);

	private static final Time TIME = new Time(1_000_000_000_000L);

	private final Calendars calendars = start(Map.of(), Calendars.class);

	static Stream<Arguments> dates() {
		Calendar calendar = Calendar.getInstance(TimeZone.getTimeZone("UTC"));
		return Stream.of(Arguments.of(DATE, "toInstant()"), Arguments.of(TIMESTAMP, "toInstant()"),
				Arguments.of(SQL_DATE, "toLocalDate()"), Arguments.of(TIME, "toLocalTime()"),
				Arguments.of(calendar, "toInstant()"), Arguments.of(new Date(0) {
				}, "toInstant()"));
	}

	@ParameterizedTest
	@MethodSource("dates")
	@DisplayName("A date whose text depends on the time zone is refused as a key, with a cure that works")
	void dateIsRefused(Object date, String cure) {
		String type = date.getClass().getTypeName();
		for (Runnable call : List.<Runnable>of(() -> this.calendars.lock(date), () -> this.calendars.text(date),
				() -> this.calendars.lock(List.of("a", date)))) {
			assertThatIllegalArgumentException().isThrownBy(call::run)
				.withMessageContaining("yields no key")
				.withMessageContaining(type)
				.withMessageContaining("time zone")
				.withMessageContaining(cure);
		}
		assertThat(this.locks.events()).isEmpty();
	}

	@Test
	@DisplayName("The cures give keys")
	void cures() {
		this.calendars.instant(DATE);
		this.calendars.instant(TIMESTAMP);
		this.calendars.localDate(java.sql.Date.valueOf("2026-11-28"));
		this.calendars.localTime(Time.valueOf("11:12:13"));
		assertThat(this.locks.keys()).containsExactly(DATE.toInstant().toString(), DATE.toInstant().toString(),
				"2026-11-28", "11:12:13");
	}

	static Stream<Object> valuesWithoutText() {
		return Stream.of(new NoText(), new Object(), (Runnable) () -> {
		}, classProxy(new NoText()));
	}

	private static Object classProxy(Object target) {
		ProxyFactory factory = new ProxyFactory(target);
		factory.setProxyTargetClass(true);
		return factory.getProxy();
	}

	@ParameterizedTest
	@MethodSource("valuesWithoutText")
	@DisplayName("A value without its own text is refused as a key")
	void valueWithoutTextIsRefused(Object value) {
		for (Runnable call : List.<Runnable>of(() -> this.calendars.lock(value), () -> this.calendars.text(value),
				() -> this.calendars.lock(Arrays.asList("a", value)))) {
			assertThatIllegalArgumentException().isThrownBy(call::run)
				.withMessageContaining("yields no key")
				.withMessageContaining("a value of type " + value.getClass().getTypeName())
				.withMessageContaining("has no text of its own (no toString method). Write the property");
		}
		assertThat(this.locks.events()).isEmpty();
	}

	static Stream<Object> valuesWithText() {
		return Stream.of("anna@cafe", new Slot("anna@cafe", "b@1f"), new Slot("a", null), new Slot("a", DATE),
				new Slot("a", List.of("a", "b")), new Slot("a", Set.of("a", "b")), new Email("anna@cafe"),
				new Email("io.holdfast.Email@1f"), TimeZone.getTimeZone("UTC"), UUID.fromString("0-0-0-0-1"),
				List.of(new Slot("a", 1)));
	}

	@ParameterizedTest
	@MethodSource("valuesWithText")
	@DisplayName("A value with its own text and any content is accepted as a key")
	void valuesWithTextAreKeys(Object value) {
		this.calendars.lock(value);
		String text = (value instanceof Collection<?> several) ? several.iterator().next().toString()
				: value.toString();
		assertThat(this.locks.keys()).containsExactly(text);
	}

	@Test
	@DisplayName("A text of null is no key")
	void nullText() {
		assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(() -> this.calendars.lock(new Email(null)))
			.withMessageContaining("no text of its own");
	}

	record Slot(String room, @Nullable Object part) {
	}

	static class NoText {

	}

	record Email(@Nullable String address) {

		@Override
		public String toString() {
			return this.address;
		}

	}

	static class Calendars {

		@DistributedLock(key = "#value")
		void lock(Object value) {
		}

		@DistributedLock(key = "'at:' + #value")
		void text(Object value) {
		}

		@DistributedLock(key = "#date.toInstant()")
		void instant(Date date) {
		}

		@DistributedLock(key = "#date.toLocalDate()")
		void localDate(java.sql.Date date) {
		}

		@DistributedLock(key = "#time.toLocalTime()")
		void localTime(Time time) {
		}

	}

}
