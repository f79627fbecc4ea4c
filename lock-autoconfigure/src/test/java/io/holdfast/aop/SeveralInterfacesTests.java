package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.List;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.util.ReflectionUtils;

import static io.holdfast.aop.DeclaredType.implementing;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Classes whose interfaces declare different locks.
 */
class SeveralInterfacesTests extends LockedTestCase {

	static Stream<Class<?>> refused() {
		return Stream.of(implementing(Object.class, A.class, B.class), implementing(Work.class, A.class, B.class),
				implementing(OfA.class, B.class), Generic.class, implementing(Work.class, TypeA.class, TypeB.class),
				implementing(Object.class, LimitA.class, LimitB.class),
				// Spring finds the class's annotation first.
				implementing(Object.class, A.class, OverridingA.class), OverridingBase.class,
				implementing(BaseType.class, TypeA.class));
	}

	@ParameterizedTest
	@MethodSource
	@DisplayName("Two different annotations are refused, as only one would apply; the message names the place for the right one")
	void refused(Class<?> type) {
		assertThat(refusal(type)).hasMessageMatching("@(DistributedLock|Semaphore) on .* differs from that of .*")
			.hasMessageContaining(", and only one of them would apply. Annotate ");
	}

	static Stream<Arguments> accepted() {
		return Stream.of(yields(implementing(Object.class, A.class, AlsoA.class), "a"),
				yields(implementing(Object.class, OverridingA.class), "overriding"),
				yields(implementing(Object.class, A.class, LimitA.class), "limit", "a"), yields(Own.class, "own"),
				yields(OwnType.class, "type"), yields(implementing(Base.class, A.class, B.class), "base"),
				yields(implementing(Object.class, A.class, Rest.class), "a", "rest"), yields(OfOwnBase.class, "own"));
	}

	private static Arguments yields(Class<?> type, String... keys) {
		return Arguments.of(type, keys);
	}

	@ParameterizedTest
	@MethodSource
	@DisplayName("Equal, overriding and own annotations, and a lock beside permits, are accepted")
	void accepted(Class<?> type, String[] keys) {
		Object bean = start(type);
		for (String method : List.of("work", "rest")) {
			Method found = ReflectionUtils.findMethod(bean.getClass(), method);
			if (found != null) {
				ReflectionUtils.invokeMethod(found, bean);
			}
		}
		assertThat(Stream.concat(this.semaphores.keys().stream(), this.locks.keys().stream())).containsExactly(keys);
	}

	@Test
	@DisplayName("The annotation of a method in an interface overrides that of the class itself")
	void methodOverType() {
		start(OfMethodAndType.class).work();
		assertThat(this.locks.keys()).containsExactly("a");
	}

	interface A {

		@DistributedLock(name = "a")
		void work();

	}

	interface B {

		@DistributedLock(name = "b")
		void work();

	}

	static class Work {

		public void work() {
		}

	}

	static class OfA implements A {

		@Override
		public void work() {
		}

	}

	interface OfType<T> {

		@DistributedLock(name = "generic")
		void take(T value);

	}

	interface OfText {

		@DistributedLock(name = "text")
		void take(String value);

	}

	static class Generic implements OfType<String>, OfText {

		@Override
		public void take(String value) {
		}

	}

	@DistributedLock(name = "a")
	interface TypeA {

	}

	@DistributedLock(name = "b")
	interface TypeB {

	}

	interface LimitA {

		@Semaphore(name = "limit", limit = 1)
		void work();

	}

	interface LimitB {

		@Semaphore(name = "limit", limit = 2)
		void work();

	}

	interface AlsoA {

		@DistributedLock(name = "a")
		void work();

	}

	interface OverridingA extends A {

		@Override
		@DistributedLock(name = "overriding")
		void work();

	}

	static class Own implements A, B {

		@Override
		@DistributedLock(name = "own")
		public void work() {
		}

	}

	@DistributedLock(name = "type")
	static class OwnType extends Work implements TypeA, TypeB {

	}

	@DistributedLock(name = "type")
	static class OfMethodAndType implements A {

		@Override
		public void work() {
		}

	}

	static class Base {

		@DistributedLock(name = "base")
		public void work() {
		}

	}

	/** Spring finds the interface's annotation first. */
	static class OverridingBase extends Base implements A {

		@Override
		public void work() {
		}

	}

	@DistributedLock(name = "base")
	static class BaseType extends Work {

	}

	static class OwnBase implements A {

		@Override
		@DistributedLock(name = "own")
		public void work() {
		}

	}

	static class OfOwnBase extends OwnBase {

		@Override
		public void work() {
		}

	}

	interface Rest {

		@DistributedLock(name = "rest")
		void rest();

	}

}
