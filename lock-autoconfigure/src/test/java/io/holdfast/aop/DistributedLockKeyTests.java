package io.holdfast.aop;

import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.modifier.TypeManifestation;
import net.bytebuddy.description.modifier.Visibility;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.stereotype.Component;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

class DistributedLockKeyTests extends LockedTestCase {

	private static final String SHOP = Shop.class.getName();

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

	static List<Object> textValues() {
		return List.of("text", 42, 42L, 1.5, true, 'c', Kind.LARGE, UUID.fromString("0-0-0-0-1"),
				new StringBuilder("built"), new Sku("x", 1));
	}

	@ParameterizedTest
	@MethodSource("textValues")
	void valuesWithText(Object value) {
		this.shop.object(value);
		String expected = (value == Kind.LARGE) ? "LARGE" : value.toString();
		assertThat(key()).isEqualTo(expected);
		this.shop.objectInText(value);
		assertThat(key()).isEqualTo("o:" + expected);
	}

	static Stream<Arguments> otherValues() {
		return Stream
			.<Object>of("a".toCharArray(), "a".getBytes(), Map.of("a", "b"), Optional.of("a"), List.of("a").stream(),
					(Iterable<String>) () -> List.of("a").iterator())
			.map((value) -> Arguments.of(new Object[] { value }));
	}

	@ParameterizedTest
	@MethodSource("otherValues")
	void valuesWithoutText(Object value) {
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.object(value))
			.withMessageContaining("@DistributedLock on " + SHOP + ".object(Object): key = \"#value\" yields no key")
			.withMessageContaining(value.getClass().getTypeName())
			.withMessageContaining("Write ");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.objectInText(value))
			.withMessageContaining(value.getClass().getTypeName());
		assertThat(this.locks.events()).isEmpty();
	}

	@Test
	void unwrappedOptional() {
		this.shop.optional(Optional.of("a"));
		assertThat(key()).isEqualTo("a");
	}

	@Test
	void nullIsRefused() {
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.object(null))
			.withMessageContaining("@DistributedLock on " + SHOP + ".object(Object): key = \"#value\" yields no key")
			.withMessageContaining("null");
		assertThat(this.locks.events()).isEmpty();
	}

	@Test
	@DisplayName("The text null is never part of a key")
	void nullInTextIsRefused() {
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.sell(null, 1))
			.withMessageContaining(".sell(String, int): key = \"'stock:' + #sku\"")
			.withMessageContaining("#sku is null");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.byPosition(null, 1))
			.withMessageContaining("#p0 is null");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.choice(null))
			.withMessageContaining("#sku is null");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.byNameAndKey(null));
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.argument(null))
			.withMessageContaining(
					".argument(String): key = \"'stock:'.concat('sku ' + #sku)\" yields no key: #sku is null")
			.withMessageContaining("as in (#sku ?: 'none'), or refuse the call");
		assertThat(this.locks.events()).isEmpty();
		this.shop.argument("a");
		assertThat(this.locks.keys()).containsExactly("stock:sku a");
	}

	@Test
	@DisplayName("The text null is never part of a key that a constructor, an array, a map or an index yields")
	void nullInOtherNodes() {
		for (Consumer<@Nullable String> call : List.<Consumer<@Nullable String>>of(this.shop::constructed,
				this.shop::element, this.shop::entry, this.shop::index)) {
			assertThatIllegalArgumentException().isThrownBy(() -> call.accept(null))
				.withMessageContaining("yields no key: #sku is null");
			call.accept("b");
		}
		assertThat(this.locks.keys()).containsExactly("ab", "ab", "xb", "anull");
	}

	@Test
	void blankIsRefused() {
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.object(" ")).withMessageContaining("blank");
	}

	@Test
	void nullWithAlternative() {
		this.shop.alternative(null);
		this.shop.alternative("b");
		assertThat(this.locks.keys()).containsExactly("a:none", "a:b");
	}

	@Test
	@DisplayName("A key may use properties of the content of an optional, of arrays and of types")
	void specialProperties() {
		this.shop.properties(Optional.of(new Order(new Customer("7"))), new String[3], Kind.class);
		assertThat(key()).isEqualTo("7 3 Kind");
	}

	@Test
	void failingExpressionNamesItsPlace() {
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.failing("a"))
			.withMessageContaining(".failing(Object): key = \"#sku.nothing\"")
			.havingCause()
			.withMessageContaining("nothing");
	}

	@Test
	@DisplayName("An expression with a null value, or with a missing bean or type, fails with its cure")
	void failingExpressionNamesItsCure() {
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.nested(new Order(null)))
			.withMessageContaining(
					".nested(Order): key = \"#order.customer.id\" yields no key: EL1007E: Property or field"
							+ " 'id' cannot be found on null. The value before it is null in this call: write ?. for .");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.method(null))
			.withMessageContaining("EL1011E")
			.withMessageContaining("null in this call: write ?. for . and a key for this call, as in #a?.b ?: 'none'");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.unknownBean())
			.withMessageContaining("EL1058E")
			.withMessageContaining("'missing'")
			.withMessageContaining("Write the name of a bean");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.unknownType())
			.withMessageContaining("EL1005E")
			.withMessageContaining("Write the full name of a class");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.failing("a"))
			.withMessageContaining("EL1008E")
			.withMessageContaining("Write the name of an existing public property or method");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.first(List.of()))
			.withMessageContaining("EL1025E")
			.withMessageContaining("allows fewer elements");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.quotient(0))
			.withMessageContaining("Correct the expression, or refuse the call");
	}

	@Test
	void keyThatCannotBeLockedNamesItsPlace() {
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.object("a\u0007"))
			.withMessageContaining(".object(Object): key = \"#value\"")
			.withMessageContaining("control character");
	}

	@Test
	void exceptionOfBeanInExpressionIsItsOwn() {
		assertThatIllegalStateException().isThrownBy(() -> this.shop.byFailingBean()).withMessage("no tenant");
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

	record Sku(String code, int size) {
	}

	static class Shop {

		@DistributedLock(key = "'stock:' + #sku")
		void sell(@Nullable String sku, int count) {
		}

		@DistributedLock(key = "{#p1, #p2}")
		void move(String p1, String p2) {
		}

		@DistributedLock(key = "#p0 + '-' + #a1")
		void byPosition(@Nullable String sku, int count) {
		}

		@DistributedLock(key = "#order.customer.id")
		void nested(Order order) {
		}

		@DistributedLock(key = "#sku.trim()")
		void method(@Nullable String sku) {
		}

		@DistributedLock(key = "@missing.id")
		void unknownBean() {
		}

		@DistributedLock(key = "T(com.acme.Missing).ID")
		void unknownType() {
		}

		@DistributedLock(key = "#skus[0]")
		void first(List<String> skus) {
		}

		@DistributedLock(key = "#divisor > {1}")
		void quotient(int divisor) {
		}

		@DistributedLock(key = "@tenants.failing()")
		void byFailingBean() {
		}

		@DistributedLock(name = "shop", key = "#sku")
		void byNameAndKey(@Nullable String sku) {
		}

		@DistributedLock
		void plain() {
		}

		@DistributedLock
		void plain(int count) {
		}

		@DistributedLock(key = "#value")
		void object(@Nullable Object value) {
		}

		@DistributedLock(key = "'o:' + #value")
		void objectInText(Object value) {
		}

		@DistributedLock(key = "#value.orElse('none')")
		void optional(Optional<String> value) {
		}

		@DistributedLock(key = "#sku == 'x' ? 'y' : 'z' + #sku")
		void choice(@Nullable String sku) {
		}

		@DistributedLock(key = "'stock:'.concat('sku ' + #sku)")
		void argument(@Nullable String sku) {
		}

		@DistributedLock(key = "new String('a' + #sku)")
		void constructed(@Nullable String sku) {
		}

		@DistributedLock(key = "new String[] {'a' + #sku}[0]")
		void element(@Nullable String sku) {
		}

		@DistributedLock(key = "{a: 'x' + #sku}['a']")
		void entry(@Nullable String sku) {
		}

		@DistributedLock(key = "{b: 'anull', null: 'none'}['' + #sku]")
		void index(@Nullable String sku) {
		}

		@DistributedLock(key = "'a:' + (#sku ?: 'none')")
		void alternative(@Nullable String sku) {
		}

		@DistributedLock(key = "#order?.customer.id + ' ' + #skus.length + ' ' + #type.simpleName")
		void properties(Optional<Order> order, String[] skus, Class<?> type) {
		}

		@DistributedLock(key = "#sku.nothing")
		void failing(Object sku) {
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
