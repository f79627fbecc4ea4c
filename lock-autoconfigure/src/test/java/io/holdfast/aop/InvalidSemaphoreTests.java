package io.holdfast.aop;

import java.util.Map;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import static io.holdfast.aop.DeclaredType.refused;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Declarations of semaphores that stop the start of an application.
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
				refused(Semaphore.class, "limit", 1_000_000_001, "is not from 1 to 1000000000", "how many permits"),
				refused(Semaphore.class, "limitString", "many", "is not a whole number from 1", "10"),
				refused(Semaphore.class, "limitString", "10000000000", "from 1 to 1000000000", "10"),
				refused(Semaphore.class, "limitString", "${zero}", "(0) is not a whole number", "10"),
				refused(Semaphore.class, "limitString", "${blank}", "is not a whole number", "10"),
				refused(Semaphore.class, "limitString", "${text}", "(many) is not a whole number", "10"),
				refused(Semaphore.class, "limitString", "#{5 * 2}", "is not evaluated here", "${"),
				refused(Semaphore.class, "permits", 0, "is not at least 1", "how many permits a call needs", "limit",
						10),
				refused(Semaphore.class, "permits", 11, "is more than the limit of 10", "Raise the limit",
						"limitString", "10"));
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
	@DisplayName("A valid semaphore does not hide an invalid lock on the same method")
	void badLock() {
		assertThat(LockedContext.failure(PROPERTIES, BadLock.class))
			.hasMessageStartingWith("@DistributedLock on " + BadLock.class.getName())
			.hasMessageContaining("waitTime = \"soon\"");
	}

	static class BadLock {

		@Semaphore(limit = 10)
		@DistributedLock(waitTime = "soon")
		void call(String name) {
		}

	}

}
