package io.holdfast.aop;

import java.sql.Time;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Calendar;
import java.util.Collection;
import java.util.Date;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TimeZone;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.core.style.ToStringCreator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Values as keys whose text is not the same for equal values in all instances.
 */
class UnstableKeyTests {

	private static final Date DATE = new Date(1_000_000_000_000L);

	private static final Timestamp TIMESTAMP = new Timestamp(1_000_000_000_000L);

	private static final java.sql.Date SQL_DATE = new java.sql.Date(1_000_000_000_000L);

	private static final Time TIME = new Time(1_000_000_000_000L);

	@AutoClose
	private LockedContext context;

	private Calendars calendars;

	@BeforeEach
	void start() {
		this.context = LockedContext.withClassProxies(Map.of(), Calendars.class);
		this.calendars = this.context.bean(Calendars.class);
	}

	static Stream<Arguments> dates() {
		Calendar calendar = Calendar.getInstance(TimeZone.getTimeZone("UTC"));
		return Stream.of(Arguments.of(DATE, "toInstant()"), Arguments.of(TIMESTAMP, "toInstant()"),
				Arguments.of(SQL_DATE, "toLocalDate()"), Arguments.of(TIME, "toLocalTime()"),
				Arguments.of(calendar, "toInstant()"), Arguments.of(new Date(0) {
				}, "toInstant()"));
	}

	@ParameterizedTest
	@MethodSource("dates")
	@DisplayName("A date whose text depends on the time zone is refused wherever it is a key, with a cure that works")
	void dateIsRefused(Object date, String cure) {
		String type = date.getClass().getTypeName();
		for (Runnable call : List.<Runnable>of(() -> this.calendars.lock(date), () -> this.calendars.text(date),
				() -> this.calendars.lock(List.of("a", date)), () -> this.calendars.lock(new Object[] { date }),
				() -> this.calendars.several("a", date), () -> this.calendars.lock(new Slot("a", date)),
				() -> this.calendars.lock(new Slot("a", Optional.of(date))),
				() -> this.calendars.lock(new Slot("a", List.of(date))),
				() -> this.calendars.lock(new Slot("a", Map.of("at", date))),
				() -> this.calendars.lock(new Slot("a", Map.entry("at", date))),
				() -> this.calendars.lock(new Slot("a", new Slot("b", date))),
				() -> this.calendars.lock(new AtomicReference<>(date)), () -> this.calendars.permit(date),
				() -> this.calendars.projected(List.of(new Slot("a", date))), () -> join(this.calendars.future(date)),
				() -> this.calendars.mono(date).block())) {
			assertThatIllegalArgumentException().isThrownBy(call::run)
				.withMessageContaining("yields no key")
				.withMessageContaining(type)
				.withMessageContaining("time zone")
				.withMessageContaining(cure);
		}
		assertThat(this.context.locks().events()).isEmpty();
	}

	private static void join(CompletableFuture<?> future) {
		try {
			future.join();
		}
		catch (CompletionException ex) {
			throw (RuntimeException) ex.getCause();
		}
	}

	@Test
	@DisplayName("The cures make a key")
	void cures() {
		this.calendars.instant(DATE);
		this.calendars.instant(TIMESTAMP);
		this.calendars.localDate(java.sql.Date.valueOf("2026-11-28"));
		this.calendars.localTime(Time.valueOf("11:12:13"));
		assertThat(this.context.locks().keys()).containsExactly(DATE.toInstant().toString(),
				DATE.toInstant().toString(), "2026-11-28", "11:12:13");
	}

	@Test
	@DisplayName("A date in an object with a text of its own is fine if it is not in that text as it is")
	void dateThatIsNotInTheText() {
		this.calendars.lock(new Cured(DATE));
		this.calendars.lock(new CuredObject(DATE, SQL_DATE));
		assertThat(this.context.locks().keys()).containsExactly(DATE.toInstant().toString(),
				"at=" + DATE.toInstant() + ", on=" + SQL_DATE.toLocalDate());
	}

	static Stream<Object> valuesWithIdentityHashes() {
		return Stream.of(new Slot("a", new String[] { "a" }), new Slot("a", new int[] { 1 }),
				new Slot("a", new Object()), new Slot("a", new NoText()), new Slot("a", List.of(new NoText())),
				new Slot("a", new Slot("b", new byte[1])), new Slot("a", Map.of("x", new NoText())),
				new Slot("a", Map.of(new NoText(), "x")), new Slot("a", Optional.of(new NoText())),
				new Slot("a", Arrays.asList(null, new NoText())), new Slot("a", new HashOfType()),
				new Slot("a", new ArrayInText("a")), new Slot("a", new ArrayList<>(List.of(new long[1]))),
				new Slot("a", new Described()), new Slot("a", new WithSuper()), new Generated(new NoText()),
				new ArrayInText("a"), new Described(), new WithSuper(), new Derived(new NoText()),
				new Slot("a", new Derived(new NoText())), new Slot("a", new String[][] { { "a" } }),
				new Slot("a", (Runnable) () -> {
				}), proxy(new NoText()), new Slot("a", proxy(new NoText())), new AtomicReference<>(new NoText()));
	}

	private static Object proxy(Object target) {
		ProxyFactory factory = new ProxyFactory(target);
		factory.setInterfaces(Named.class);
		return factory.getProxy();
	}

	@ParameterizedTest
	@MethodSource("valuesWithIdentityHashes")
	@DisplayName("An identity hash of the value or of a part is refused wherever it stands in the text")
	void identityHashIsRefused(Object value) {
		for (Runnable call : List.<Runnable>of(() -> this.calendars.lock(value), () -> this.calendars.text(value),
				() -> this.calendars.lock(Arrays.asList("a", value)), () -> this.calendars.permit(value))) {
			assertThatIllegalArgumentException().isThrownBy(call::run)
				.withMessageContaining("yields no key")
				.withMessageContaining("a value of type " + value.getClass().getTypeName())
				.withMessageContaining("Write ");
		}
		assertThat(this.context.locks().events()).isEmpty();
	}

	@Test
	@DisplayName("The message names the part and its cure")
	void partIsNamed() {
		assertThatIllegalArgumentException().isThrownBy(() -> this.calendars.lock(new Slot("a", new String[0])))
			.withMessageContaining("a value of type " + Slot.class.getTypeName())
			.withMessageContaining("java.lang.String[]")
			.withMessageContaining("Write the properties that identify it, for example #a.id + ':' + #a.version");
	}

	static Stream<Object> valuesWithoutOrder() {
		return Stream.of(new Slot("a", Set.of("a", "b")), new Slot("a", Set.of("a", "b", "c")),
				new Slot("a", Map.of("a", 1, "b", 2)), new Slot("a", new HashSet<>(Set.of(Kind.SMALL, Kind.LARGE))),
				new Slot("a", Optional.of(Set.of(1, 2))), new AtomicReference<>(Set.of(1, 2)));
	}

	@ParameterizedTest
	@MethodSource("valuesWithoutOrder")
	@DisplayName("A set or map whose order is another one in each JVM is refused as a part of a text")
	void orderIsRefused(Object value) {
		assertThatIllegalArgumentException().isThrownBy(() -> this.calendars.lock(value))
			.withMessageContaining("a value of type " + value.getClass().getTypeName())
			.withMessageContaining("order")
			.withMessageContaining("Write ");
		assertThat(this.context.locks().events()).isEmpty();
	}

	static Stream<Object> valuesWithText() {
		return Stream.of("anna@cafe", new Slot("anna@cafe", "b@1f"), new Slot("a", 1), new Slot("a", Kind.SMALL),
				new Slot("a", null), new Slot("a", List.of("a", "b")), new Slot("a", List.of(Kind.SMALL, 1L)),
				new Slot("a", Optional.empty()), new Slot("a", Map.of("a", 1)), new Slot("a", Set.of("a")),
				new Slot("a", new TreeSet<>(Set.of("a", "b"))), new Slot("a", EnumSet.allOf(Kind.class)),
				new Slot("a", new HashSet<>(Set.of("a", "b"))), new Slot("a", Instant.EPOCH),
				new Slot("a", UUID.fromString("0-0-0-0-1")), new Slot("a", new Slot("b", new StringBuilder("c"))),
				new Email("anna@cafe"), new Email("io.holdfast.Email@1f"), new Sorted(Set.of("b", "a")),
				new Sorted(Set.of("a", "b")), new Hidden(new int[1]), new Slot("a", String.class),
				new Slot("a", new Circle("c")), TimeZone.getTimeZone("UTC"),
				IntStream.range(0, 1).boxed().map((i) -> new Slot("a", i)).toList());
	}

	@ParameterizedTest
	@MethodSource("valuesWithText")
	@DisplayName("Other values are keys, as they were")
	void valuesWithTextAreKeys(Object value) {
		this.calendars.lock(value);
		String text = (value instanceof Collection<?> several) ? several.iterator().next().toString()
				: value.toString();
		assertThat(this.context.locks().keys()).containsExactly(text);
	}

	@Test
	@DisplayName("A value is not asked for more than its text")
	void partsAreNotAsked() {
		Untouchable untouchable = new Untouchable();
		this.calendars.lock(new Holder("a@b", untouchable));
		assertThat(this.context.locks().keys()).containsExactly("a@b");
	}

	@Test
	@DisplayName("A text of null is no key")
	void nullText() {
		assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(() -> this.calendars.lock(new Email(null)))
			.withMessageContaining("no text of its own");
	}

	enum Kind {

		SMALL, LARGE

	}

	record Slot(String room, @Nullable Object part) {
	}

	/** As what a user writes that is told of the time zone. */
	record Cured(Date at) {

		@Override
		public String toString() {
			return this.at.toInstant().toString();
		}

	}

	static class CuredObject {

		private final Date at;

		private final java.sql.Date on;

		CuredObject(Date at, java.sql.Date on) {
			this.at = at;
			this.on = on;
		}

		@Override
		public String toString() {
			return "at=" + this.at.toInstant() + ", on=" + this.on.toLocalDate();
		}

	}

	interface Named {

	}

	static class NoText implements Named {

	}

	/** As many entities have it. */
	static class HashOfType {

		@Override
		public boolean equals(@Nullable Object other) {
			return other instanceof HashOfType;
		}

		@Override
		public int hashCode() {
			return getClass().hashCode();
		}

	}

	/** As a library generates it. */
	static class Generated {

		private final Object part;

		Generated(Object part) {
			this.part = part;
		}

		@Override
		public String toString() {
			return "Generated(part=" + this.part + ")";
		}

	}

	static class Derived extends Generated {

		Derived(Object part) {
			super(part);
		}

	}

	static class ArrayInText {

		private final String[] names;

		ArrayInText(String... names) {
			this.names = names;
		}

		@Override
		public String toString() {
			return "names: " + this.names;
		}

	}

	static class Described {

		@Override
		public String toString() {
			return new ToStringCreator(this).append("a", 1).toString();
		}

	}

	static class WithSuper {

		@Override
		public String toString() {
			return "WithSuper(super=" + super.toString() + ")";
		}

	}

	record Email(@Nullable String address) {

		@Override
		public String toString() {
			return this.address;
		}

	}

	record Sorted(Set<String> names) {

		@Override
		public String toString() {
			return new TreeSet<>(this.names).toString();
		}

	}

	record Hidden(int[] part) {

		@Override
		public String toString() {
			return "hidden@" + this.part.length;
		}

	}

	/** Holds itself. */
	static class Circle {

		private final String name;

		private final List<Object> parts = new ArrayList<>();

		Circle(String name) {
			this.name = name;
			this.parts.add(this);
			this.parts.add(this.parts);
		}

		@Override
		public String toString() {
			return this.name + "@" + this.parts.size();
		}

	}

	record Holder(String text, Object part) {

		@Override
		public String toString() {
			return this.text;
		}

	}

	/** As what loads itself from a database when it is used. */
	static class Untouchable extends ArrayList<String> {

		private static final long serialVersionUID = 1L;

		@Override
		public int size() {
			throw new AssertionError();
		}

		@Override
		public java.util.Iterator<String> iterator() {
			throw new AssertionError();
		}

		@Override
		public boolean equals(@Nullable Object other) {
			throw new AssertionError();
		}

		@Override
		public int hashCode() {
			throw new AssertionError();
		}

		@Override
		public String toString() {
			throw new AssertionError();
		}

	}

	static class Calendars {

		@DistributedLock(key = "#value")
		void lock(Object value) {
		}

		@DistributedLock(key = "'at:' + #value")
		void text(Object value) {
		}

		@DistributedLock(key = "{#a, #b}")
		void several(Object a, Object b) {
		}

		@DistributedLock(key = "#slots.![part]")
		void projected(List<Slot> slots) {
		}

		@Semaphore(name = "s", key = "#value", limit = 1)
		void permit(Object value) {
		}

		@DistributedLock(key = "#value")
		CompletableFuture<String> future(Object value) {
			return CompletableFuture.completedFuture("");
		}

		@DistributedLock(key = "#value")
		Mono<String> mono(Object value) {
			return Mono.just("");
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
