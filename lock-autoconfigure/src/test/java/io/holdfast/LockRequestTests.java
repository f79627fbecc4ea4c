package io.holdfast;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

/**
 * Valid and invalid requests to a lock service.
 */
class LockRequestTests extends RequestTestCase<LockRequest> {

	private static final LockRequest REQUEST = LockRequest.of("stock:1");

	@Test
	@DisplayName("Attributes without a value are left to the service, except for renewal, re-entry and the mode")
	void defaults() {
		assertThat(REQUEST.key()).isEqualTo("stock:1");
		assertThat(REQUEST.keys()).containsExactly("stock:1");
		assertThat(REQUEST.mode()).isEqualTo(LockMode.EXCLUSIVE);
		assertThat(REQUEST.waitTime()).isNull();
		assertThat(REQUEST.leaseTime()).isNull();
		assertThat(REQUEST.maxHold()).isNull();
		assertThat(REQUEST.minHold()).isZero();
		assertThat(REQUEST.lossMargin()).isNull();
		assertThat(REQUEST.name()).isNull();
		assertThat(REQUEST.context()).isNull();
		assertThat(REQUEST.isAutoRenew()).isTrue();
		assertThat(REQUEST.isReentrant()).isTrue();
	}

	@Override
	LockRequest plain() {
		return LockRequest.of("stock:1");
	}

	static Stream<Named<UnaryOperator<LockRequest>>> changes() {
		return Stream.of(Named.of("mode", (request) -> request.mode(LockMode.READ)),
				Named.of("waitTime", (request) -> request.waitTime(Duration.ofSeconds(1))),
				Named.of("waitForever", LockRequest::waitForever),
				Named.of("leaseTime", (request) -> request.leaseTime(Duration.ofSeconds(2))),
				Named.of("renewal", (request) -> request.autoRenew(false)),
				Named.of("maxHold", (request) -> request.maxHold(Duration.ofSeconds(30))),
				Named.of("minHold", (request) -> request.minHold(Duration.ofSeconds(4))),
				Named.of("lossMargin", (request) -> request.lossMargin(Duration.ofMillis(600))),
				Named.of("reentrant", (request) -> request.reentrant(false)),
				Named.of("name", (request) -> request.name("stock")),
				Named.of("note", (request) -> request.note("anna edits")),
				Named.of("within", (request) -> request.within(LeaseContext.empty())),
				Named.of("only", (request) -> request.only("stock:2")));
	}

	@ParameterizedTest
	@MethodSource("changes")
	@DisplayName("Each change keeps all other attributes")
	void otherAttributes(UnaryOperator<LockRequest> change) {
		LockRequest all = full();
		List<String> words = words(change.apply(all));
		words.removeAll(words(all));
		assertThat(words).as("differences").hasSizeLessThanOrEqualTo(1);
	}

	private static LockRequest full() {
		return REQUEST.mode(LockMode.READ)
			.waitTime(Duration.ofSeconds(10))
			.leaseTime(Duration.ofSeconds(20))
			.minHold(Duration.ofSeconds(15))
			.lossMargin(Duration.ofMillis(500))
			.name("full")
			.within(LeaseContext.empty());
	}

	private static List<String> words(LockRequest request) {
		return new ArrayList<>(Arrays.asList(request.toString().split(", |\\[|]")));
	}

	@Test
	@DisplayName("A request has the given attributes, also in its text, except for the context")
	void said() {
		LockRequest request = full().reentrant(false).maxHold(Duration.ofSeconds(40));
		assertThat(request.mode()).isEqualTo(LockMode.READ);
		assertThat(request.waitTime()).hasSeconds(10);
		assertThat(request.leaseTime()).hasSeconds(20);
		assertThat(request.maxHold()).hasSeconds(40);
		assertThat(request.minHold()).hasSeconds(15);
		assertThat(request.lossMargin()).hasMillis(500);
		assertThat(request.name()).isEqualTo("full");
		assertThat(request.context()).isSameAs(LeaseContext.empty());
		assertThat(request.isAutoRenew()).isTrue();
		assertThat(request.isReentrant()).isFalse();
		assertThat(request).hasToString("LockRequest[stock:1, mode=READ, waitTime=PT10S, leaseTime=PT20S, "
				+ "maxHold=PT40S, minHold=PT15S, autoRenew=true, name=full, reentrant=false, lossMargin=PT0.5S]");
		assertThat(REQUEST.waitForever()).hasToString("LockRequest[stock:1, mode=EXCLUSIVE, waitTime=forever, "
				+ "leaseTime=null, maxHold=null, minHold=PT0S, autoRenew=true, reentrant=true]");
	}

	static Stream<Arguments> bounds() {
		return Stream.of(
				Arguments.of("leaseTime", (UnaryOperator<LockRequest>) (request) -> request.leaseTime(millis(99)),
						"PT0.099S", "PT0.1S to PT8760H"),
				Arguments.of("leaseTime", (UnaryOperator<LockRequest>) (request) -> request.leaseTime(tooLong()),
						"PT8760H0.001S", "PT0.1S to PT8760H"),
				Arguments.of("maxHold", (UnaryOperator<LockRequest>) (request) -> request.maxHold(millis(99)),
						"PT0.099S", "PT0.1S to "),
				Arguments.of("minHold", (UnaryOperator<LockRequest>) (request) -> request.minHold(millis(-1)),
						"PT-0.001S", "PT0S to PT8760H"),
				Arguments.of("minHold", (UnaryOperator<LockRequest>) (request) -> request.minHold(tooLong()),
						"PT8760H0.001S", "PT0S to PT8760H"),
				Arguments.of("lossMargin", (UnaryOperator<LockRequest>) (request) -> request.lossMargin(millis(-1)),
						"PT-0.001S", "PT0S to PT2920H"),
				Arguments.of("lossMargin", (UnaryOperator<LockRequest>) (request) -> request.lossMargin(tooLong()),
						"PT8760H0.001S", "PT0S to PT2920H"));
	}

	@ParameterizedTest
	@MethodSource("bounds")
	@DisplayName("A time out of bounds is refused, with the attribute, the value and the bounds")
	void timeOutOfBounds(String what, UnaryOperator<LockRequest> change, String value, String bounds) {
		for (LockRequest request : List.of(REQUEST, LockRequest.ofAll(List.of("stock:1")))) {
			assertThatIllegalArgumentException().isThrownBy(() -> change.apply(request))
				.withMessageStartingWith(what + " of lock 'stock:1' is " + value + ", which is not from " + bounds);
		}
	}

	@Test
	@DisplayName("A loss margin above a third of the lease time is refused, in either order of both")
	void lossMarginAboveAThird() {
		assertThat(REQUEST.leaseTime(millis(300)).lossMargin(millis(100)).lossMargin()).hasMillis(100);
		for (UnaryOperator<LockRequest> change : List.<UnaryOperator<LockRequest>>of(
				(request) -> request.leaseTime(millis(300)).lossMargin(millis(101)),
				(request) -> request.lossMargin(millis(101)).leaseTime(millis(300)))) {
			assertThatIllegalArgumentException().isThrownBy(() -> change.apply(REQUEST))
				.withMessage("lossMargin of lock 'stock:1' is PT0.101S, more than a third of its leaseTime of PT0.3S: "
						+ "lower the one, or raise the other");
		}
	}

	static Stream<Arguments> exclusive() {
		UnaryOperator<LockRequest> renewal = (request) -> request.autoRenew(false);
		UnaryOperator<LockRequest> lease = (request) -> request.leaseTime(millis(300));
		UnaryOperator<LockRequest> longest = (request) -> request.maxHold(millis(200));
		UnaryOperator<LockRequest> shortest = (request) -> request.minHold(millis(400));
		return Stream.of(
				Arguments.of(List.of(renewal, longest),
						"maxHold of lock 'stock:1' is PT0.2S, which has no effect, because autoRenew is false: "
								+ "leave one of them out, as there is no renewal to stop"),
				Arguments.of(List.of(lease, longest),
						"maxHold of lock 'stock:1' is PT0.2S, which is shorter than leaseTime (PT0.3S), for which the "
								+ "lease lasts without any renewal: lower leaseTime, or raise maxHold"),
				Arguments.of(List.of(longest, shortest),
						"minHold of lock 'stock:1' is PT0.4S, which is longer than maxHold (PT0.2S): lower minHold, or "
								+ "raise maxHold"),
				Arguments.of(List.of(renewal, lease, shortest),
						"minHold of lock 'stock:1' is PT0.4S, which is longer than leaseTime (PT0.3S), with which the "
								+ "lease ends, because autoRenew is false: lower minHold, or raise leaseTime"));
	}

	@ParameterizedTest
	@MethodSource("exclusive")
	@DisplayName("Times that exclude each other are refused when the last of them is set")
	void exclusiveTimes(List<UnaryOperator<LockRequest>> changes, String message) {
		for (int last = 0; last < changes.size(); last++) {
			List<UnaryOperator<LockRequest>> ordered = new ArrayList<>(changes);
			Collections.swap(ordered, last, changes.size() - 1);
			LockRequest allowed = REQUEST;
			for (UnaryOperator<LockRequest> change : ordered.subList(0, changes.size() - 1)) {
				allowed = change.apply(allowed);
			}
			LockRequest before = allowed;
			UnaryOperator<LockRequest> refused = ordered.get(changes.size() - 1);
			assertThatIllegalArgumentException().isThrownBy(() -> refused.apply(before)).withMessage(message);
		}
	}

	@Test
	@DisplayName("Times that are equal do not exclude each other")
	void equalTimes() {
		assertThat(REQUEST.leaseTime(millis(200)).maxHold(millis(200)).minHold(millis(200)).minHold()).hasMillis(200);
		assertThat(REQUEST.leaseTime(millis(200)).autoRenew(false).minHold(millis(200)).minHold()).hasMillis(200);
		assertThat(REQUEST.maxHold(millis(200)).maxHold()).as("a default lease time is shortened").hasMillis(200);
	}

	@Test
	@DisplayName("The bounds themselves are allowed")
	void boundsThemselves() {
		assertThat(REQUEST.leaseTime(millis(100)).leaseTime()).hasMillis(100);
		assertThat(REQUEST.leaseTime(Duration.ofDays(365)).leaseTime()).hasDays(365);
		assertThat(REQUEST.maxHold(millis(100)).maxHold()).hasMillis(100);
		assertThat(REQUEST.minHold(Duration.ZERO).minHold()).isZero();
		assertThat(REQUEST.minHold(Duration.ofDays(365)).minHold()).hasDays(365);
		assertThat(REQUEST.waitTime(Duration.ZERO).waitTime()).isZero();
	}

	@Test
	@DisplayName("A wait time has no upper bound, and is not negative")
	void waitTime() {
		assertThatIllegalArgumentException().isThrownBy(() -> REQUEST.waitTime(millis(-1)))
			.withMessage("waitTime of lock 'stock:1' is negative: PT-0.001S; use zero to try once, or waitForever()");
		assertThat(REQUEST.waitTime(Duration.ofSeconds(Long.MAX_VALUE))).isEqualTo(REQUEST.waitForever());
		assertThat(REQUEST.waitForever().waitTime()).isGreaterThan(Duration.ofDays(365 * 50));
	}

	@Test
	@DisplayName("A null mode is refused, instead of being taken for a reader")
	void nullMode() {
		assertThatNullPointerException().isThrownBy(() -> REQUEST.mode(null)).withMessage("mode");
	}

	@ParameterizedTest
	@ValueSource(strings = { "", " ", "\t\n" })
	@DisplayName("A blank name is refused")
	void blankName(String name) {
		assertThatIllegalArgumentException().isThrownBy(() -> REQUEST.name(name))
			.withMessage("name of lock 'stock:1' is blank: name its purpose, or leave it out");
	}

	@Test
	@DisplayName("A null name is refused")
	void nullName() {
		assertThatIllegalArgumentException().isThrownBy(() -> REQUEST.name(null))
			.withMessageStartingWith("name of lock 'stock:1' is null");
	}

	static Stream<Consumer<String>> waysToNameAKey() {
		return Stream.of(LockRequest::of, REQUEST::only, (key) -> LockRequest.ofAll(Arrays.asList("good", key)));
	}

	@ParameterizedTest
	@MethodSource("waysToNameAKey")
	@DisplayName("An invalid key is refused by each method that takes keys")
	void badKeys(Consumer<String> request) {
		assertThatIllegalArgumentException().isThrownBy(() -> request.accept(null))
			.withMessage("A lock's key must not be null: name its purpose, for example 'stock:SKU0001'");
		assertThatIllegalArgumentException().isThrownBy(() -> request.accept(" "))
			.withMessageStartingWith("A lock's key must not be blank");
		assertThatIllegalArgumentException().isThrownBy(() -> request.accept("a\nb"))
			.withMessage("The lock's key has a control character (code 10) at position 1: remove it");
		assertThatIllegalArgumentException().isThrownBy(() -> request.accept("x".repeat(1025)))
			.withMessageContaining("has 1025 characters, more than 1024: use a shorter name or a digest");
		request.accept("x".repeat(1024));
	}

	@Test
	@DisplayName("S9 Several keys are sorted, and each counts once")
	void orderOfKeys() {
		LockRequest several = LockRequest.ofAll(List.of("b", "a", "C", "b", "ä", "a"));
		assertThat(several.keys()).containsExactly("C", "a", "b", "ä");
		assertThat(several.key()).isEqualTo("C, a, b, ä");
		assertThat(several).isEqualTo(LockRequest.ofAll(Set.of("a", "b", "C", "ä")))
			.hasSameHashCodeAs(LockRequest.ofAll(Set.of("a", "b", "C", "ä")));
		assertThat(LockRequest.ofAll(List.of("a"))).isEqualTo(LockRequest.of("a"));
		assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> several.keys().add("d"));
	}

	@Test
	@DisplayName("A request for other keys keeps the terms and the namespace")
	void otherKeys() {
		assertThat(REQUEST.leaseTime(millis(300)).only(List.of("b", "a")))
			.isEqualTo(LockRequest.ofAll(List.of("a", "b")).leaseTime(millis(300)));
		assertThat(REQUEST.namespace("shop").only(List.of("b", "a")).keys()).containsExactly("shop:a", "shop:b");
	}

	@Test
	@DisplayName("A collection that is changed later changes no request")
	void collectionIsCopied() {
		Set<String> keys = new HashSet<>(Set.of("a"));
		LockRequest request = LockRequest.ofAll(keys);
		keys.add("b");
		assertThat(request.keys()).containsExactly("a");
	}

	@ParameterizedTest
	@CsvSource({ "1, true", "1000, true", "0, false", "1001, false" })
	@DisplayName("From 1 to 1000 keys are locked together")
	void numberOfKeys(int number, boolean allowed) {
		List<String> keys = IntStream.range(0, number).mapToObj((i) -> "key" + i).toList();
		if (allowed) {
			assertThat(LockRequest.ofAll(keys).keys()).hasSize(number);
		}
		else {
			assertThatIllegalArgumentException().isThrownBy(() -> LockRequest.ofAll(keys))
				.withMessage("The number of keys to lock together is " + number + ", which is not from 1 to 1000");
		}
	}

	@Test
	@DisplayName("Of many keys messages name five")
	void manyKeysInWords() {
		assertThat(LockRequest.ofAll(List.of("a", "b", "c", "d", "e")).key()).isEqualTo("a, b, c, d, e");
		assertThat(LockRequest.ofAll(List.of("a", "b", "c", "d", "e", "f", "g")).key())
			.isEqualTo("a, b, c, d, e and 2 more");
	}

	@Test
	@DisplayName("A request for one of the keys keeps all other attributes")
	void only() {
		LockRequest all = LockRequest.ofAll(List.of("a", "b")).waitForever().name("both").reentrant(false);
		assertThat(all.only("b")).isEqualTo(LockRequest.of("b").waitForever().name("both").reentrant(false));
	}

	@Test
	@DisplayName("Requests within different contexts differ")
	void contexts() {
		LeaseContext context = LeaseContext.empty();
		assertThat(REQUEST.within(context)).isEqualTo(REQUEST.within(context)).isNotEqualTo(REQUEST);
		assertThat(REQUEST.equals("stock:1")).isFalse();
	}

	private static Duration millis(long millis) {
		return Duration.ofMillis(millis);
	}

	private static Duration tooLong() {
		return Duration.ofDays(365).plusMillis(1);
	}

}
