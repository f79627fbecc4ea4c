package io.holdfast.aop;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import net.bytebuddy.description.modifier.MethodManifestation;
import net.bytebuddy.description.modifier.ModifierContributor;
import net.bytebuddy.description.modifier.Ownership;
import net.bytebuddy.description.modifier.Visibility;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.ConnectableFlux;
import reactor.core.publisher.Flux;

import org.springframework.beans.factory.BeanCreationException;

import static io.holdfast.aop.DeclaredType.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Declarations of semaphores that keep an application from starting.
 */
class InvalidSemaphoreTests {

	private static final Map<String, Object> PROPERTIES = Map.of("text", "many", "blank", " ", "zero", "0");

	static Stream<Arguments> invalid() {
		return Stream.of(
				Arguments.of(DeclaredType.selling(void.class, Semaphore.class).make(), "sell(String)",
						"has neither limit nor limitString", "limit = 10"),
				refused(Semaphore.class, "limit", 10, "and limitString = \"20\" are both given", "Leave one",
						"limitString", "20"),
				refused(Semaphore.class, "limit", 0, "is not from 1 to 1000000000", "how many permits there are"),
				refused(Semaphore.class, "limit", -5, "is not from 1 to 1000000000", "how many permits"),
				refused(Semaphore.class, "limit", 1_000_000_001, "is not from 1 to 1000000000", "how many permits"),
				refused(Semaphore.class, "limitString", "many", "is not a whole number from 1", "10"),
				refused(Semaphore.class, "limitString", "2.5", "is not a whole number from 1", "10"),
				refused(Semaphore.class, "limitString", "10000000000", "from 1 to 1000000000", "10"),
				refused(Semaphore.class, "limitString", "${zero}", "(0) is not a whole number", "10"),
				refused(Semaphore.class, "limitString", "${blank}", "is not a whole number", "10"),
				refused(Semaphore.class, "limitString", "${text}", "(many) is not a whole number", "10"),
				refused(Semaphore.class, "limitString", "#{5 * 2}", "is not evaluated here", "${"),
				Arguments.of(UnresolvedLimit.class, "limitString = \"${no.such.property}\"", "cannot be resolved",
						"Set the property"),
				refused(Semaphore.class, "permits", 0, "is not at least 1", "how many permits a call needs", "limit",
						10),
				refused(Semaphore.class, "permits", -1, "is not at least 1", "how many permits", "limit", 10),
				refused(Semaphore.class, "permits", 11, "is more than the limit of 10", "Raise the limit",
						"limitString", "10"),
				refused(Semaphore.class, "name", " ", "is blank", "leave the attribute out", "limit", 10),
				Arguments.of(DeclaredType.with(Semaphore.class, "limit", 10, "name", "a\u0007"), "name = ",
						"control character", "Write another name"),
				refused(Semaphore.class, "key", "#tenant +", "is no valid expression", "Write for example", "limit",
						10),
				refused(Semaphore.class, "key", "#tenant", "#tenant", "parameters are #sku, #count", "limit", 10),
				refused(Semaphore.class, "condition", "#number > 1", "has an unknown name: #number",
						"parameters are #sku, #count; put text into quotes", "limit", 10),
				modified(Visibility.PRIVATE, "is private", "public method"),
				modified(Ownership.STATIC, "is static", "public method"),
				modified(MethodManifestation.FINAL, "is final", "non-final"),
				Arguments.of(FinalClass.class, "call(String)", "cannot be proxied", "class non-final"),
				Arguments.of(ReturnsFuture.class, "call(String)", "returns java.util.concurrent.Future", "the result"),
				Arguments.of(ReturnsConnectable.class, "call(String) (declared by", "ConnectableFlux", "Mono or Flux"),
				Arguments.of(LockedToo.class, "call(String)", "has neither limit nor limitString", "limit = 10"));
	}

	private static Arguments modified(ModifierContributor.ForMethod modifier, String problem, String cure) {
		return Arguments.of(DeclaredType.selling(modifier, void.class, Semaphore.class, "limit", 10).make(),
				"sell(String)", problem, cure);
	}

	@ParameterizedTest
	@MethodSource("invalid")
	@DisplayName("The start fails, and the message names place, value, problem and cure")
	void invalidDeclarations(Class<?> type, String value, String problem, String cure) {
		InvalidDeclarationException failure = LockedContext.failure(PROPERTIES, type);
		assertThat(failure).hasMessageStartingWith("@Semaphore on " + type.getName() + ".").hasMessageContaining(value);
		assertThat(failure.getProblem()).contains(value, problem);
		assertThat(failure.getCure()).contains(cure);
		assertThat(failure).hasMessageEndingWith(failure.getCure() + ".");
	}

	@Test
	@DisplayName("A good semaphore does not hide a bad lock on the same method")
	void badLock() {
		assertThat(LockedContext.failure(PROPERTIES, BadLock.class))
			.hasMessageStartingWith("@DistributedLock on " + BadLock.class.getName())
			.hasMessageContaining("waitTime = \"soon\"");
	}

	@Test
	@DisplayName("An application that refuses unknown placeholders is told of them in the same way")
	void strictPlaceholders() {
		assertThatExceptionOfType(BeanCreationException.class)
			.isThrownBy(() -> LockedContext.strict(Map.of(), UnresolvedLimit.class))
			.withCauseInstanceOf(InvalidDeclarationException.class)
			.withMessageContaining("cannot be resolved");
		LockedContext.strict(Map.of("no.such.property", "5"), UnresolvedLimit.class).close();
	}

	static class UnresolvedLimit {

		@Semaphore(limitString = "${no.such.property}")
		void call(String name) {
		}

	}

	static final class FinalClass {

		@Semaphore(limit = 10)
		void call(String name) {
		}

	}

	static class ReturnsFuture {

		@Semaphore(limit = 10)
		Future<String> call(String name) {
			return new CompletableFuture<>();
		}

	}

	@Semaphore(limit = 10)
	static class ReturnsConnectable {

		public ConnectableFlux<String> call(String name) {
			return Flux.<String>empty().publish();
		}

	}

	static class LockedToo {

		@DistributedLock
		@Semaphore
		void call(String name) {
		}

	}

	static class BadLock {

		@Semaphore(limit = 10)
		@DistributedLock(waitTime = "soon")
		void call(String name) {
		}

	}

}
