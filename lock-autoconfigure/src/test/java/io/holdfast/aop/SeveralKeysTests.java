package io.holdfast.aop;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Calls that lock several keys together.
 */
class SeveralKeysTests extends LockedTestCase {

	private static final String PLACE = "@DistributedLock on " + Shop.class.getName();

	private final Shop shop = start(Map.of("prefix", "berlin"), Shop.class);

	private List<String> keys() {
		return this.locks.lastRequest().keys();
	}

	static Stream<Arguments> severalValues() {
		UUID id = UUID.fromString("0-0-0-0-1");
		return Stream.of(Arguments.of(List.of("b", "a"), List.of("a", "b")),
				Arguments.of(new LinkedHashSet<>(List.of("b", "a")), List.of("a", "b")),
				Arguments.of(new ArrayDeque<>(List.of("a", "b", "a")), List.of("a", "b")),
				Arguments.of(Map.of("a", 1, "b", 2).keySet(), List.of("a", "b")),
				Arguments.of(new String[] { "b", "a" }, List.of("a", "b")),
				Arguments.of(new Object[] { new StringBuilder("a"), 'b' }, List.of("a", "b")),
				Arguments.of(new int[] { 2, 1 }, List.of("1", "2")), Arguments.of(new long[] { 1 }, List.of("1")),
				Arguments.of(List.of(id), List.of(id.toString())),
				Arguments.of(List.of(new Item("a")), List.of("Item[sku=a]")),
				Arguments.of(LockMode.values(), List.of("EXCLUSIVE", "READ")));
	}

	@ParameterizedTest
	@MethodSource("severalValues")
	@DisplayName("A collection or an array gives several keys, each by the rules of a single key")
	void several(Object values, List<String> expected) {
		this.shop.any(values);
		assertThat(keys()).isEqualTo(expected);
		assertEvents("lock", "unlock");
	}

	@Test
	@DisplayName("The name stands before each key")
	void name() {
		this.shop.named(List.of(new Item("b"), new Item("a")));
		assertThat(keys()).containsExactly("stock:a", "stock:b");
	}

	@Test
	@DisplayName("Text can be added to each key")
	void projection() {
		this.shop.projected(List.of(new Item("b"), new Item("a")));
		assertThat(keys()).containsExactly("sku/a", "sku/b");
	}

	@Test
	@DisplayName("A list can be written into the expression, also with placeholders")
	void inlineList() {
		this.shop.transfer("x", "y");
		assertThat(keys()).containsExactly("account:x", "account:y", "bank:berlin");
	}

	@Test
	@DisplayName("A request for many keys has all declared values, as a request for one key")
	void request() {
		this.shop.declared(List.of("a", "b"));
		this.shop.declared(List.of("a"));
		LockRequest expected = LockRequest.ofAll(List.of("d:a", "d:b"))
			.name("d")
			.mode(LockMode.READ)
			.waitForever()
			.autoRenew(false);
		assertThat(this.locks.requests()).containsExactly(expected, expected.only("d:a"));
	}

	static Stream<Arguments> refusedValues() {
		return Stream.of(Arguments.of(List.of(), "yields no key: the collection is empty"),
				Arguments.of(new String[0], "yields no key: the collection is empty"),
				Arguments.of(Arrays.asList("a", null), "yields no key at index 1: its value is null"),
				Arguments.of(new String[] { null }, "yields no key at index 0: its value is null"),
				Arguments.of(List.of("a", " "), "yields no key at index 1: its value is blank"),
				Arguments.of(List.of("a", List.of("b")), "yields no key at index 1: a value of type"),
				Arguments.of(List.of("a", new Object()), "yields no key at index 1: a value of type java.lang.Object"),
				Arguments.of(List.of("a", "b\u0007"), "yields text that cannot be a key: The lock's key has a control"),
				Arguments.of(IntStream.range(0, 1001).boxed().toList(), "The number of keys to lock together is 1001"));
	}

	@ParameterizedTest
	@MethodSource("refusedValues")
	@DisplayName("A call without keys, or with a refused key, fails and locks nothing")
	void refused(Object values, String problem) {
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.any(values))
			.withMessageStartingWith(PLACE + ".any(Object): key = \"#values\" ")
			.withMessageContaining(problem);
		assertThat(this.locks.requests()).isEmpty();
	}

	@Test
	@DisplayName("Null never becomes the text \"null\", in any key")
	void nullInText() {
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.projected(List.of(new Item(null))))
			.withMessageContaining("sku is null");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.transfer("a", null))
			.withMessageContaining("#to is null");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.upperCase(null))
			.withMessageContaining("#sku is null");
		assertThat(this.locks.requests()).isEmpty();
		this.shop.upperCase("a");
		assertThat(keys()).containsExactly("SKU:A");
	}

	@Test
	@DisplayName("A semaphore has one key")
	void semaphore() {
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.limited(List.of("a")))
			.withMessageStartingWith(
					"@Semaphore on " + Shop.class.getName() + ".limited(Collection): key = \"#values\"")
			.withMessageContaining("holds several values, and a key is one");
		assertThat(this.semaphores.requests()).isEmpty();
	}

	record Item(@Nullable String sku) {
	}

	static class Shop {

		@DistributedLock(key = "#values")
		void any(Object values) {
		}

		@DistributedLock(name = "stock", key = "#items.![sku]")
		void named(List<Item> items) {
		}

		@DistributedLock(key = "#items.!['sku/' + sku]")
		void projected(List<Item> items) {
		}

		@DistributedLock(key = "{'account:' + #from, 'account:' + #to, 'bank:${prefix}'}")
		void transfer(String from, @Nullable String to) {
		}

		@DistributedLock(name = "d", key = "#values", mode = LockMode.READ, waitTime = "-1", autoRenew = false)
		void declared(Collection<String> values) {
		}

		@DistributedLock(key = "('sku:' + #sku).toUpperCase()")
		void upperCase(@Nullable String sku) {
		}

		@Semaphore(key = "#values", limit = 1)
		void limited(Collection<String> values) {
		}

	}

}
