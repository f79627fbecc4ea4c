package io.holdfast.aop;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;

import io.holdfast.HoldfastException;
import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitNotAcquiredException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.Semaphore;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Calls that are skipped without their lock or permits.
 */
class OnTimeoutTests extends LockedTestCase {

	private final Jobs jobs = start(Jobs.class, Counting.class);

	@Test
	@DisplayName("A skipped call gives an empty result of its method's type, and the method does not run")
	void skipped() {
		this.locks.busy();
		this.jobs.nothing();
		assertThat(this.jobs.text()).isNull();
		assertThat(this.jobs.number()).isNull();
		assertThat(this.jobs.list()).isNull();
		assertThat(this.jobs.optional()).isEmpty();
		assertThat(this.jobs.optionalInt()).isEmpty();
		assertThat(this.jobs.optionalLong()).isEmpty();
		assertThat(this.jobs.optionalDouble()).isEmpty();
		assertThat(this.locks.requests()).hasSize(8);
		assertThat(this.locks.events()).isEmpty();
	}

	@Test
	@DisplayName("A skipped generic method returns the empty result of the type that its class declares")
	void generic() {
		this.locks.busy();
		Counting counting = bean(Counting.class);
		assertThat(counting.run("a")).isEqualTo(OptionalLong.empty());
		Task<String, OptionalLong> task = counting;
		assertThat(task.run("a")).isEqualTo(OptionalLong.empty());
		assertThat(this.locks.events()).isEmpty();
	}

	@ParameterizedTest
	@EnumSource(value = Reason.class, names = { "TIMED_OUT", "SHUTDOWN", "EXCEEDS_LIMIT", "TOO_MANY_WAITERS" })
	@DisplayName("A call without a permit is skipped: after the timeout, during shutdown, and above the limit")
	void permits(Reason reason) {
		this.semaphores.refusing(reason);
		assertThat(this.jobs.limited()).isEmpty();
		assertThat(this.locks.events()).isEmpty();
	}

	@ParameterizedTest
	@EnumSource(value = Reason.class, names = { "INTERRUPTED", "SELF_BLOCKED" })
	@DisplayName("Interrupted and self-blocked calls are not skipped")
	void otherReasons(Reason reason) {
		this.locks.refusing(reason);
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(this.jobs::text)
			.extracting(NotAcquiredException::getReason)
			.isEqualTo(reason);
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> this.jobs.withFallback("a"));
		assertThat(this.locks.events()).isEmpty();
	}

	static List<HoldfastException> troubles() {
		return List.of(new LeaseStoreException("k", "no answer", null), new LeaseLostException("k", "lost"));
	}

	@ParameterizedTest
	@MethodSource("troubles")
	@DisplayName("Failures of the store and lost leases are not skipped")
	void trouble(HoldfastException trouble) {
		this.locks.failing(trouble);
		assertThatExceptionOfType(HoldfastException.class).isThrownBy(this.jobs::text).isSameAs(trouble);
		assertThatExceptionOfType(HoldfastException.class).isThrownBy(() -> this.jobs.withFallback("a"))
			.isSameAs(trouble);
	}

	@Test
	@DisplayName("A call without a key is not skipped")
	void noKey() {
		this.locks.busy();
		assertThatIllegalArgumentException().isThrownBy(() -> this.jobs.keyed(null));
		assertThat(this.jobs.keyed("a")).isNull();
	}

	@ParameterizedTest
	@ValueSource(strings = { "skipping", "fallingBack" })
	@DisplayName("Exceptions of the method are not skipped, even exceptions of a lock that the method takes itself")
	void nested(String outer) {
		LockNotAcquiredException own = new LockNotAcquiredException("other", Reason.TIMED_OUT, Duration.ZERO, null);
		Nesting bean = start(Nesting.class);
		assertThatExceptionOfType(LockNotAcquiredException.class)
			.isThrownBy(
					() -> assertThat(outer.equals("skipping") ? bean.skipping(own) : bean.fallingBack(own)).isNotNull())
			.isSameAs(own);
		assertEvents("lock", "unlock");
	}

	@Test
	@DisplayName("If the lock is missing after the permit, the permit is returned before the lock's way out")
	void permitThenNoLock() {
		this.locks.busy();
		assertThat(this.jobs.both()).isEqualTo("lock fallback");
		assertEvents("permit", "return", "fallback");
		assertThat(this.jobs.skipsBoth()).isNull();
	}

	@Test
	@DisplayName("Each annotation of a method has its own way out")
	void ofEach() {
		this.semaphores.busy();
		assertThat(this.jobs.skipsBoth()).isNull();
		assertThatExceptionOfType(PermitNotAcquiredException.class).isThrownBy(this.jobs::both);
		assertThat(this.locks.requests()).isEmpty();
	}

	static class Jobs extends Recorded {

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		void nothing() {
			ran("");
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		@Nullable String text() {
			return ran("ran");
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		@Nullable Integer number() {
			return ran(1);
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		@Nullable List<String> list() {
			return ran(List.of());
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		Optional<String> optional() {
			return ran(Optional.of("a"));
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		OptionalInt optionalInt() {
			return ran(OptionalInt.of(1));
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		OptionalLong optionalLong() {
			return ran(OptionalLong.of(1));
		}

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		OptionalDouble optionalDouble() {
			return ran(OptionalDouble.of(1));
		}

		@DistributedLock(key = "#key", onTimeout = OnTimeout.SKIP)
		@Nullable String keyed(@Nullable String key) {
			return ran("ran");
		}

		@Semaphore(limit = 1, onTimeout = OnTimeout.SKIP)
		Optional<String> limited() {
			return ran(Optional.of("a"));
		}

		@DistributedLock(fallback = "instead")
		String withFallback(String text) {
			return ran(text);
		}

		private String instead(String text) {
			return "instead of " + text;
		}

		@Semaphore(limit = 1)
		@DistributedLock(fallback = "withoutLock")
		String both() {
			return ran("ran");
		}

		private String withoutLock() {
			this.recorder.record("fallback");
			return "lock fallback";
		}

		@Semaphore(limit = 1, onTimeout = OnTimeout.SKIP)
		@DistributedLock(onTimeout = OnTimeout.SKIP)
		@Nullable String skipsBoth() {
			return ran("ran");
		}

	}

	interface Task<A, R> {

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		R run(A argument);

	}

	static class Counting implements Task<String, OptionalLong> {

		@Override
		public OptionalLong run(String argument) {
			return OptionalLong.of(1);
		}

	}

	static class Nesting {

		@DistributedLock(onTimeout = OnTimeout.SKIP)
		@Nullable String skipping(RuntimeException failure) {
			throw failure;
		}

		@DistributedLock(fallback = "instead")
		String fallingBack(RuntimeException failure) {
			throw failure;
		}

		String instead(RuntimeException failure) {
			return "instead";
		}

	}

}
