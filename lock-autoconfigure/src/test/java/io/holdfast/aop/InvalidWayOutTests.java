package io.holdfast.aop;

import java.lang.reflect.Type;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import io.holdfast.LockNotAcquiredException;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnStoreFailure;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.Semaphore;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.core.ResolvableType;

import static io.holdfast.aop.DeclaredType.refused;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Ways out that stop the start of an application.
 */
class InvalidWayOutTests {

	static Stream<Arguments> invalid() {
		Type strings = ResolvableType.forClassWithGenerics(List.class, String.class).getType();
		Type integers = ResolvableType.forClassWithGenerics(List.class, Integer.class).getType();
		return Stream.of(
				refused(DistributedLock.class, "fallback", "other", "is no method of the class",
						"Write a method other(String, int) or other(String, int, LockNotAcquiredException)"),
				fallback(lock(String.class).other(String.class, Integer.class), "has other parameters: other(Integer)",
						"Write a method other(String)"),
				fallback(lock(String.class).other(String.class), "has other parameters: other()",
						"Write a method other(String)"),
				fallback(lock(String.class).other(String.class, String.class, PermitNotAcquiredException.class),
						"has other parameters: other(String, PermitNotAcquiredException)",
						"other(String, LockNotAcquiredException) into the class; a NotAcquiredException serves locks and permits"),
				fallback(lock(String.class).other(String.class, String.class, Object.class),
						"has other parameters: other(String, Object)", "LockNotAcquiredException)"),
				fallback(lock(String.class).other(String.class, LockNotAcquiredException.class, String.class),
						"has other parameters: other(LockNotAcquiredException, String)",
						"other(String, LockNotAcquiredException)"),
				fallback(
						lock(String.class).other(String.class, String.class)
							.other(String.class, String.class, RuntimeException.class),
						"is ambiguous: 2 methods fit", "Leave one of them"),
				Arguments.of(DeclaredType.selling(String.class, DistributedLock.class, "fallback", "sell").make(),
						"fallback = \"sell\"", "is no method of the class but itself",
						"sell(String, LockNotAcquiredException)"),
				otherResult(String.class, Integer.class, "java.lang.Integer", "java.lang.String"),
				otherResult(String.class, void.class, "void", "java.lang.String"),
				otherResult(void.class, String.class, "java.lang.String", "void"),
				otherResult(int.class, Integer.class, "java.lang.Integer", "int"),
				otherResult(strings, integers, "java.util.List<java.lang.Integer>", "java.util.List<java.lang.String>"),
				fallback(lock(void.class, "onTimeout", OnTimeout.SKIP).other(void.class, String.class),
						"and onTimeout = SKIP are both given", "Leave one of them out"),
				refused(DistributedLock.class, "fallback", " ", "is blank", "leave the attribute out"),
				refused(DistributedLock.class, "fallback", "${no.such.property}", "cannot be resolved",
						"Set the property"),
				skipped(DeclaredType.selling(int.class, DistributedLock.class, "onTimeout", OnTimeout.SKIP),
						"is not possible, because the method returns int, which has no empty value", "name a fallback"),
				fallback(permit(String.class).other(String.class, String.class, LockNotAcquiredException.class),
						"has other parameters: other(String, LockNotAcquiredException)",
						"other(String, PermitNotAcquiredException)"),
				refused(DistributedLock.class, "onStoreFailure", OnStoreFailure.PROCEED,
						"is not possible, as a method never runs without its lock", "Write FALLBACK"),
				refused(Semaphore.class, "onStoreFailure", OnStoreFailure.FALLBACK, "has no fallback",
						"by the attribute fallback", "limit", 1),
				fallback(
						lock(void.class, "onStoreFailure", OnStoreFailure.FALLBACK).other(void.class, String.class,
								LockNotAcquiredException.class),
						"has other parameters: other(String, LockNotAcquiredException)",
						"Write a method other(String) or other(String, HoldfastException) into the class; "
								+ "with onStoreFailure = FALLBACK it serves failures of Redis, too"),
				refused(DistributedLock.class, "fallback", "other()", "is no name of a method",
						"Write the name of a method of the class, without class, brackets or signs"));
	}

	private static DeclaredType lock(Type result) {
		return DeclaredType.selling(result, DistributedLock.class, "fallback", "other");
	}

	private static DeclaredType lock(Type result, String attribute, Enum<?> value) {
		return DeclaredType.selling(result, DistributedLock.class, "fallback", "other", attribute, value);
	}

	private static DeclaredType permit(Type result) {
		return DeclaredType.selling(result, Semaphore.class, "limit", 1, "fallback", "other");
	}

	private static Arguments fallback(DeclaredType type, String problem, String cure) {
		return Arguments.of(type.make(), "fallback = \"other\"", problem, cure);
	}

	private static Arguments otherResult(Type result, Type other, String returned, String expected) {
		return fallback(lock(result).other(other, String.class),
				"returns " + returned + ", but the method returns " + expected,
				"Have other(String) return " + expected);
	}

	private static Arguments skipped(DeclaredType type, String problem, String cure) {
		return Arguments.of(type.make(), "onTimeout = SKIP", problem, cure);
	}

	@ParameterizedTest
	@MethodSource("invalid")
	@DisplayName("The start fails, and the message names place, value, problem and cure")
	void invalidDeclarations(Class<?> type, String value, String problem, String cure) {
		InvalidDeclarationException failure = LockedContext.failure(Map.of(), type);
		assertThat(failure.getProblem()).contains(" on " + type.getName() + ".sell(String", "): " + value, problem);
		assertThat(failure.getCure()).contains(cure);
	}

}
