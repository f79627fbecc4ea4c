package io.holdfast.aop;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Classes whose interfaces declare different locks.
 */
class SeveralInterfacesTests extends LockedTestCase {

	@ParameterizedTest
	@ValueSource(classes = { Both.class, Inherited.class, Generic.class, BothTypes.class, BothLimits.class,
			OfBaseAndOwn.class, Redundant.class, OverridingBase.class, OfBaseType.class })
	@DisplayName("Two different annotations are refused, as only one would apply; the message names the place for the right one")
	void refused(Class<?> type) {
		assertThat(refusal(type)).hasMessageMatching("@(DistributedLock|Semaphore) on .* differs from that of .*")
			.hasMessageContaining(", and only one of them would apply. Annotate ");
	}

	@Test
	@DisplayName("Equal, overriding and own annotations, and a lock beside permits, are accepted")
	void accepted() {
		start(Same.class, Overriding.class, LockAndPermit.class, Own.class, OwnType.class, OfBaseClass.class,
				OtherMethods.class, OfOwnBase.class)
			.work();
		bean(Overriding.class).work();
		bean(LockAndPermit.class).work();
		bean(Own.class).work();
		bean(OwnType.class).work();
		bean(OfBaseClass.class).work();
		bean(OtherMethods.class).work();
		bean(OtherMethods.class).rest();
		bean(OfOwnBase.class).work();
		assertThat(this.locks.keys()).containsExactly("a", "overriding", "a", "own", "type", "base", "a", "rest",
				"own");
		assertThat(this.semaphores.keys()).containsExactly("limit");
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

	static class Both implements A, B {

		@Override
		public void work() {
		}

	}

	static class Work {

		public void work() {
		}

	}

	static class Inherited extends Work implements A, B {

	}

	static class OfA implements A {

		@Override
		public void work() {
		}

	}

	static class OfBaseAndOwn extends OfA implements B {

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

	static class BothTypes extends Work implements TypeA, TypeB {

	}

	interface LimitA {

		@Semaphore(name = "limit", limit = 1)
		void work();

	}

	interface LimitB {

		@Semaphore(name = "limit", limit = 2)
		void work();

	}

	static class BothLimits implements LimitA, LimitB {

		@Override
		public void work() {
		}

	}

	interface AlsoA {

		@DistributedLock(name = "a")
		void work();

	}

	static class Same implements A, AlsoA {

		@Override
		public void work() {
		}

	}

	interface OverridingA extends A {

		@Override
		@DistributedLock(name = "overriding")
		void work();

	}

	/** Spring finds the class's annotation first. */
	static class Redundant implements A, OverridingA {

		@Override
		public void work() {
		}

	}

	static class Overriding implements OverridingA {

		@Override
		public void work() {
		}

	}

	static class LockAndPermit implements A, LimitA {

		@Override
		public void work() {
		}

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

	static class OfBaseType extends BaseType implements TypeA {

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

	static class OfBaseClass extends Base implements A, B {

	}

	interface Rest {

		@DistributedLock(name = "rest")
		void rest();

	}

	static class OtherMethods implements A, Rest {

		@Override
		public void work() {
		}

		@Override
		public void rest() {
		}

	}

}
