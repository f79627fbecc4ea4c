package io.holdfast.aop;

import java.lang.ref.WeakReference;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.Duration;
import java.util.Calendar;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TimeZone;
import java.util.UUID;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.modifier.TypeManifestation;
import net.bytebuddy.description.modifier.Visibility;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.stereotype.Component;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

class DistributedLockKeyTests extends LockedTestCase {

	private static final String SHOP = Shop.class.getName();

	private static final Date DATE = new Date(1_000_000_000_000L);

	private static final Timestamp TIMESTAMP = new Timestamp(1_000_000_000_000L);

	private final Shop shop = start(Shop.class, Tenants.class);

	private String key() {
		return this.locks.lastRequest().key();
	}

	@Test
	@DisplayName("S9: a key from a parameter locks one item of many")
	void keyFromParameterByName() {
		this.shop.sell("SKU1", 2);
		this.shop.sell("SKU2", 2);
		assertThat(this.locks.keys()).containsExactly("stock:SKU1", "stock:SKU2");
	}

	static Stream<Arguments> keys() {
		return Stream.of(yields("stock:a", "value", "'stock:' + #sku"), yields("a-1", "key", "#p0 + '-' + #a1"),
				yields("acme", "key", "@tenants.current()"), yields("shop", "name", "shop"),
				yields("shop:a", "name", "shop", "key", "#sku"),
				yields("shop-berlin:berlin/a", "name", "shop-${shop.prefix}", "key", "'${shop.prefix}/' + #sku"),
				yields("2", "key", "#count + #count"), yields("2!", "key", "#count + #count + '!'"),
				yields("true/sell/sell/a", "key", "(#root.target.class == #root.targetClass) + '/' + methodName"
						+ " + '/' + #root.method.name + '/' + #root.args[0]"));
	}

	private static Arguments yields(String key, Object... attributes) {
		return Arguments.argumentSet(List.of(attributes).toString(), key, attributes);
	}

	@ParameterizedTest
	@MethodSource("keys")
	@DisplayName("Keys may use names, parameters, beans, the call and its method, and properties; numbers are added")
	void keys(String expected, Object[] attributes) {
		Class<?> type = DeclaredType.with(DistributedLock.class, attributes);
		start(Map.of("shop.prefix", "berlin"), type, Tenants.class);
		DeclaredType.sell(bean(type));
		assertThat(this.locks.keys()).containsExactly(expected);
	}

	@Test
	@DisplayName("A parameter with the name of a position is found by its name")
	void nameOfPosition() {
		this.shop.move("from", "to");
		assertThat(this.locks.lastRequest().keys()).containsExactly("from", "to");
	}

	@Test
	@DisplayName("The check of a property keeps no class loader, such as that of an application before its restart")
	void classLoader() {
		WeakReference<ClassLoader> loader = loaderOfCheckedType();
		await().atMost(Duration.ofSeconds(30)).until(() -> {
			System.gc();
			return loader.get() == null;
		});
	}

	private static WeakReference<ClassLoader> loaderOfCheckedType() {
		Class<?> type = new ByteBuddy().subclass(Object.class)
			.modifiers(Visibility.PUBLIC, TypeManifestation.FINAL)
			.defineProperty("code", String.class)
			.make()
			.load(null, ClassLoadingStrategy.Default.WRAPPER)
			.getLoaded();
		assertThat(ExpressionSyntax.property(type, "code")).isNotNull();
		return new WeakReference<>(type.getClassLoader());
	}

	@Test
	@DisplayName("Without name and key, the key is class and method, without the proxy, and the same for overloads")
	void neither() {
		this.shop.plain();
		this.shop.plain(1);
		assertThat(this.locks.keys()).containsExactly(SHOP + ".plain", SHOP + ".plain");
	}

	static Stream<Arguments> refusals() {
		String noKey = "yields no key: #value is null";
		return Stream.of(refused("#value", Object.class, null, "yields no key", "null"),
				refused("#value", Object.class, " ", "blank"),
				refused("#value", Object.class, "a\u0007", "control character"),
				refused("#value", Email.class, new Email(null), "no text of its own"),
				refused("'stock:' + #value", String.class, null, "#value is null"),
				refused("#p0 + '-' + #a0", String.class, null, "#p0 is null"),
				refused("#value == 'x' ? 'y' : 'z' + #value", String.class, null, "#value is null"),
				refused("'stock:'.concat('sku ' + #value)", String.class, null, noKey,
						"as in (#value ?: 'none'), or refuse the call"),
				refused("new String('a' + #value)", String.class, null, noKey),
				refused("new String[] {'a' + #value}[0]", String.class, null, noKey),
				refused("{a: 'x' + #value}['a']", String.class, null, noKey),
				refused("{b: 'anull', null: 'none'}['' + #value]", String.class, null, noKey),
				refused("#value.customer.id", Order.class, new Order(null),
						"yields no key: EL1007E: Property or field 'id' cannot be found on null."
								+ " The value before it is null in this call: write ?. for ."),
				refused("#value.trim()", String.class, null, "EL1011E",
						"null in this call: write ?. for . and a key for this call, as in #a?.b ?: 'none'"),
				refused("@missing.id", String.class, "a", "EL1058E", "'missing'", "Write the name of a bean"),
				refused("T(com.acme.Missing).ID", String.class, "a", "EL1005E", "Write the full name of a class"),
				refused("#value.nothing", Object.class, "a", "EL1008E", "nothing",
						"Write the name of an existing public property or method"),
				refused("#value[0]", List.class, List.of(), "EL1025E", "allows fewer elements"),
				refused("#value > {1}", int.class, 0, "Correct the expression, or refuse the call"));
	}

	private static Arguments refused(String key, Class<?> type, @Nullable Object value, String... message) {
		return Arguments.of(key, type, value, message);
	}

	@ParameterizedTest
	@MethodSource
	@DisplayName("A call without a key is refused with place and cure; the text null is never part of a key")
	void refusals(String key, Class<?> type, @Nullable Object value, String[] message) {
		Object bean = start(DeclaredType.keyed(key, type), Tenants.class);
		assertThatIllegalArgumentException().isThrownBy(() -> DeclaredType.sell(bean, value))
			.withMessageStartingWith("@DistributedLock on " + DeclaredType.class.getName())
			.withMessageContaining(".sell(" + type.getSimpleName() + "): key = \"" + key + "\"")
			.withMessageContainingAll(message);
		assertThat(this.locks.events()).isEmpty();
	}

	static Stream<Arguments> keysOfValues() {
		return Stream.of(Arguments.of("'stock:'.concat('sku ' + #value)", String.class, "a", "stock:sku a"),
				Arguments.of("new String('a' + #value)", String.class, "b", "ab"),
				Arguments.of("new String[] {'a' + #value}[0]", String.class, "b", "ab"),
				Arguments.of("{a: 'x' + #value}['a']", String.class, "b", "xb"),
				Arguments.of("{b: 'anull', null: 'none'}['' + #value]", String.class, "b", "anull"),
				Arguments.of("'a:' + (#value ?: 'none')", String.class, null, "a:none"),
				Arguments.of("'a:' + (#value ?: 'none')", String.class, "b", "a:b"),
				Arguments.of("#value.orElse('none')", Optional.class, Optional.of("a"), "a"),
				Arguments.of("#value.toInstant()", Date.class, DATE, DATE.toInstant().toString()),
				Arguments.of("#value.toInstant()", Date.class, TIMESTAMP, DATE.toInstant().toString()),
				Arguments.of("#value.toLocalDate()", java.sql.Date.class, java.sql.Date.valueOf("2026-11-28"),
						"2026-11-28"),
				Arguments.of("#value.toLocalTime()", Time.class, Time.valueOf("11:12:13"), "11:12:13"));
	}

	@ParameterizedTest
	@MethodSource
	@DisplayName("Values other than null, alternatives, and the cures of refusals give keys")
	void keysOfValues(String key, Class<?> type, @Nullable Object value, String expected) {
		DeclaredType.sell(start(DeclaredType.keyed(key, type)), value);
		assertThat(key()).isEqualTo(expected);
	}

	static List<Object> valuesWithText() {
		return List.of("text", 42, 42L, 1.5, true, 'c', Kind.LARGE, UUID.fromString("0-0-0-0-1"),
				new StringBuilder("built"), "anna@cafe", new Slot("anna@cafe", "b@1f"), new Slot("a", null),
				new Slot("a", DATE), new Slot("a", List.of("a", "b")), new Slot("a", Set.of("a", "b")),
				new Email("anna@cafe"), new Email("io.holdfast.Email@1f"), TimeZone.getTimeZone("UTC"));
	}

	static Stream<Arguments> valuesWithoutText() {
		String[] other = { "Write " };
		String[] noText = { "has no text of its own (no toString method). Write the property" };
		String[] instant = { "time zone", "toInstant()" };
		return Stream.of(Arguments.of("a".toCharArray(), other), Arguments.of("a".getBytes(), other),
				Arguments.of(Map.of("a", "b"), other), Arguments.of(Optional.of("a"), other),
				Arguments.of(List.of("a").stream(), other),
				Arguments.of((Iterable<String>) () -> List.of("a").iterator(), other),
				Arguments.of(new NoText(), noText), Arguments.of(new Object(), noText), Arguments.of((Runnable) () -> {
				}, noText), Arguments.of(classProxy(new NoText()), noText), Arguments.of(DATE, instant),
				Arguments.of(TIMESTAMP, instant),
				Arguments.of(new java.sql.Date(0), new String[] { "time zone", "toLocalDate()" }),
				Arguments.of(new Time(0), new String[] { "time zone", "toLocalTime()" }),
				Arguments.of(Calendar.getInstance(TimeZone.getTimeZone("UTC")), instant), Arguments.of(new Date(0) {
				}, instant));
	}

	private static Object classProxy(Object target) {
		ProxyFactory factory = new ProxyFactory(target);
		factory.setProxyTargetClass(true);
		return factory.getProxy();
	}

	@ParameterizedTest
	@MethodSource
	@DisplayName("A value without its own text, or whose text depends on the time zone, is refused as a key, with its cure")
	void valuesWithoutText(Object value, String[] message) {
		for (ThrowingCallable call : List.<ThrowingCallable>of(() -> this.shop.object(value),
				() -> this.shop.objectInText(value), () -> this.shop.object(List.of("a", value)))) {
			assertThatIllegalArgumentException().isThrownBy(call)
				.withMessageContaining("yields no key")
				.withMessageContaining(value.getClass().getTypeName())
				.withMessageContainingAll(message);
		}
		assertThat(this.locks.events()).isEmpty();
	}

	@ParameterizedTest
	@MethodSource
	void valuesWithText(Object value) {
		this.shop.object(value);
		String expected = (value == Kind.LARGE) ? "LARGE" : value.toString();
		assertThat(key()).isEqualTo(expected);
		this.shop.objectInText(value);
		assertThat(key()).isEqualTo("o:" + expected);
	}

	@Test
	@DisplayName("A key may use properties of the content of an optional, of arrays and of types")
	void specialProperties() {
		this.shop.properties(Optional.of(new Order(new Customer("7"))), new String[3], Kind.class);
		assertThat(key()).isEqualTo("7 3 Kind");
	}

	@Test
	void exceptionOfBeanInExpressionIsItsOwn() {
		assertThatIllegalStateException().isThrownBy(() -> this.shop.byFailingBean()).withMessage("no tenant");
	}

	record Slot(String room, @Nullable Object part) {

	}

	record Email(@Nullable String address) {

		@Override
		public String toString() {
			return this.address;
		}

	}

	static class NoText {

	}

	record Order(@Nullable Customer customer) {
	}

	record Customer(String id) {
	}

	enum Kind {

		LARGE {
			@Override
			public String toString() {
				return "a large one";
			}
		}

	}

	static class Shop {

		@DistributedLock(key = "'stock:' + #sku")
		void sell(String sku, int count) {
		}

		@DistributedLock(key = "{#p1, #p2}")
		void move(String p1, String p2) {
		}

		@DistributedLock(key = "@tenants.failing()")
		void byFailingBean() {
		}

		@DistributedLock
		void plain() {
		}

		@DistributedLock
		void plain(int count) {
		}

		@DistributedLock(key = "#value")
		void object(Object value) {
		}

		@DistributedLock(key = "'o:' + #value")
		void objectInText(Object value) {
		}

		@DistributedLock(key = "#order?.customer.id + ' ' + #skus.length + ' ' + #type.simpleName")
		void properties(Optional<Order> order, String[] skus, Class<?> type) {
		}

	}

	@Component("tenants")
	static class Tenants {

		public String current() {
			return "acme";
		}

		public String failing() {
			throw new IllegalStateException("no tenant");
		}

	}

}
