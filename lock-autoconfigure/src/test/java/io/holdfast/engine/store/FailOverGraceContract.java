package io.holdfast.engine.store;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource.Kind;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Contract of every {@link LeaseStore} after a fail-over with a grace for its holders.
 */
public abstract class FailOverGraceContract extends StoreContract {

	/** The longest lease. */
	protected static final long GRACE = 2_000;

	private static final Resource SEMAPHORE = new Resource(Kind.SEMAPHORE, KEY);

	/**
	 * Fail over to another server.
	 * @param lost runs before the fail-over, and is not replicated
	 */
	protected abstract void failOver(Runnable lost);

	static Stream<Resource> resources() {
		return Stream.of(lock(KEY), SEMAPHORE);
	}

	private static AcquireCommand command(Resource resource, String token, int permits) {
		return switch (resource.kind()) {
			case LOCK ->
				(permits == 1) ? Commands.forReader(token, GRACE, GRACE) : Commands.forLock(token, GRACE, GRACE);
			case SEMAPHORE -> new AcquireCommand(token, permits, 3, true, GRACE, GRACE);
		};
	}

	/**
	 * Return a command for the entire resource: an exclusive lock, or all three permits.
	 */
	private static AcquireCommand command(Resource resource, Instance instance, String n) {
		return command(resource, instance.token(n), 3);
	}

	private static boolean renew(Resource resource, Instance instance, String n) {
		AcquireCommand command = command(resource, instance, n);
		return instance.renew(List.of(new Renewal(resource, command.token(), command.permits(), GRACE))).get(0);
	}

	private void pass() {
		elapse(Duration.ofMillis(GRACE + 1));
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("No request gets a new grant while an unknown holder may exist")
	void grantsNothing(Resource resource) {
		failOver(() -> granted(this.a.acquire(resource, command(resource, this.a, "1"))));
		// The grace begins with the first command.
		Busy first = busy(this.b.acquire(resource, command(resource, this.b, "1")));
		assertThat(first.ownerTtlMillis()).isBetween(GRACE - 500, GRACE);
		assertThat(first.inGrace()).isTrue();
		assertThat(busy(this.b.attempt(resource, command(resource, this.b, "2"))).foreign()).isFalse();
		busy(newInstance().acquire(resource, command(resource, this.c, "1")));
		pass();
		granted(this.b.acquire(resource, command(resource, this.b, "1")));
		assertThat(busy(this.a.acquire(resource, command(resource, this.a, "2"))).inGrace()).isFalse();
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("A holder that renews regains its lease, and can renew, hand over and release")
	void holdsAgain(Resource resource) {
		failOver(() -> granted(this.a.acquire(resource, command(resource, this.a, "1"))));
		assertThat(renew(resource, this.a, "1")).isTrue();
		assertThat(renew(resource, this.a, "1")).isTrue();
		elapse(Duration.ofMillis(GRACE * 3 / 5));
		assertThat(renew(resource, this.a, "1")).isTrue();
		elapse(Duration.ofMillis(GRACE * 3 / 5));
		busy(this.b.acquire(resource, command(resource, this.b, "1")));
		assertThat(renew(resource, this.a, "1")).isTrue();
		assertThat(this.a.release(resource, command(resource, this.a, "1"))).isTrue();
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		assertThat(this.b.release(resource, command(resource, this.b, "1"))).isTrue();
		granted(this.c.acquire(resource, command(resource, this.c, "1")));
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("A lease is not regained beside another owner, by a retention, or after the grace")
	void losesNevertheless(Resource resource) {
		granted(this.a.acquire(resource, command(resource, this.a, "1")));
		failOver(() -> {
		});
		assertThat(renew(resource, this.a, "1")).isTrue();
		if (resource.kind() == Kind.LOCK) {
			// During the grace, more permits than the limit may be held, but no new
			// permits.
			assertThat(renew(resource, this.b, "1")).isFalse();
		}
		assertThat(this.a.retain(resource, "2", 3, GRACE)).isFalse();
		pass();
		assertThat(renew(resource, this.a, "1")).isFalse();
		granted(this.b.acquire(resource, command(resource, this.b, "1")));
	}

	@Test
	@DisplayName("Readers that renew regain the key together, but not beside an exclusive owner")
	void readersHoldAgain() {
		Resource lock = lock(KEY);
		AcquireCommand first = command(lock, this.a.token("1"), 1);
		AcquireCommand second = command(lock, this.b.token("1"), 1);
		granted(this.c.acquire(lock, command(lock, this.c, "1")));
		busy(this.b.acquire(lock, second));
		failOver(() -> {
			this.c.release(lock, command(lock, this.c, "1"));
			granted(this.a.acquire(lock, first));
			granted(this.b.acquire(lock, second));
		});
		assertThat(this.a.renew(List.of(new Renewal(lock, first.token(), 1, GRACE)))).as("beside an owner")
			.containsExactly(false);
		this.c.release(lock, command(lock, this.c, "1"));
		assertThat(this.a.renew(List.of(new Renewal(lock, first.token(), 1, GRACE)))).containsExactly(true);
		assertThat(this.b.renew(List.of(new Renewal(lock, second.token(), 1, GRACE)))).containsExactly(true);
		assertThat(renew(lock, this.c, "2")).as("beside readers").isFalse();
		assertThat(get(this.a.store.inspect(lock, 0, 0)).readerCount()).isEqualTo(2);
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("A release that finds nothing is uncertain until the end of the grace")
	void knowsNothingOfReleases(Resource resource) {
		failOver(() -> granted(this.a.acquire(resource, command(resource, this.a, "1"))));
		AcquireCommand ended = command(resource, this.a, "1");
		assertThat(get(this.a.store.release(resource, ended, null)))
			.extracting(ReleaseReply::released, ReleaseReply::certain)
			.containsExactly(false, false);
		pass();
		assertThat(get(this.a.store.release(resource, ended, null)))
			.extracting(ReleaseReply::released, ReleaseReply::certain)
			.containsExactly(false, true);
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("Releases do not serve the queue during the grace, but waiters keep their places")
	void keepsTheQueue(Resource resource) {
		granted(this.a.acquire(resource, command(resource, this.a, "1")));
		busy(this.b.acquire(resource, command(resource, this.b, "1")));
		failOver(() -> {
		});
		assertThat(this.a.release(resource, command(resource, this.a, "1"))).isTrue();
		busy(this.c.acquire(resource, command(resource, this.c, "1")));
		busy(this.b.acquire(resource, command(resource, this.b, "1")));
		assertThat(this.b.wakeUps).isEmpty();
		pass();
		busy(this.c.acquire(resource, command(resource, this.c, "1")));
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("A waiter gets a fence that is not below the fences of earlier hand-offs")
	void tellsOldHandOvers(Resource resource) {
		granted(this.c.acquire(resource, command(resource, this.c, "1")));
		this.c.release(resource, command(resource, this.c, "1"));
		failOver(() -> {
			granted(this.a.acquire(resource, command(resource, this.a, "1")));
			busy(this.b.acquire(resource, command(resource, this.b, "1")));
			this.a.release(resource, command(resource, this.a, "1"));
			this.b.awaitWakeUp();
		});
		assertThat(renew(resource, this.a, "1")).as("a late copy").isTrue();
		long old = this.b.wakeUps.get(0).fence();
		assertThat(busy(this.b.acquire(resource, command(resource, this.b, "1"))).fence()).isGreaterThanOrEqualTo(old);
		pass();
		assertThat(granted(this.b.acquire(resource, command(resource, this.b, "1"))).fence()).isGreaterThan(old);
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("A waiter that regains a lease leaves the queue")
	void waitsNoMore(Resource resource) {
		granted(this.a.acquire(resource, command(resource, this.a, "1")));
		busy(this.b.acquire(resource, command(resource, this.b, "1")));
		failOver(() -> {
			this.a.release(resource, command(resource, this.a, "1"));
			this.b.awaitWakeUp();
		});
		this.a.release(resource, command(resource, this.a, "1"));
		assertThat(renew(resource, this.b, "1")).isTrue();
		granted(this.b.acquire(resource, command(resource, this.b, "1")));
		assertThat((resource.kind() == Kind.LOCK) ? this.b.inspect().waiting() : this.b.permits(resource).waiting())
			.isZero();
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("A release during the grace grants nothing to the next token")
	void bringsInNoNext(Resource resource) {
		granted(this.a.acquire(resource, command(resource, this.a, "1")));
		failOver(() -> {
		});
		ReleaseReply reply = this.a.release(resource, command(resource, this.a, "1"), command(resource, this.a, "2"));
		assertThat(reply.released()).isTrue();
		assertThat(busy(reply.next()).ownerTtlMillis()).isBetween(1L, GRACE);
		pass();
		granted(this.a.acquire(resource, command(resource, this.a, "2")));
	}

	@Test
	@DisplayName("Regained permits count, also if their holder is in the queue")
	void countsPermits() {
		AcquireCommand one = command(SEMAPHORE, this.a.token("1"), 1);
		AcquireCommand two = command(SEMAPHORE, this.b.token("1"), 2);
		granted(this.c.acquire(SEMAPHORE, command(SEMAPHORE, this.c, "1")));
		busy(this.b.acquire(SEMAPHORE, two));
		failOver(() -> {
			this.c.release(SEMAPHORE, command(SEMAPHORE, this.c, "1"));
			granted(this.b.acquire(SEMAPHORE, two));
			granted(this.a.acquire(SEMAPHORE, one));
		});
		assertThat(this.a.renew(List.of(new Renewal(SEMAPHORE, one.token(), 1, GRACE)))).containsExactly(true);
		assertThat(this.b.renew(List.of(new Renewal(SEMAPHORE, two.token(), 2, GRACE)))).containsExactly(true);
		assertThat(this.a.permits(SEMAPHORE).used()).as("with the permits of the unreplicated release").isEqualTo(6);
		assertThat(this.a.permits(SEMAPHORE).waiting()).isZero();
		elapse(Duration.ofMillis(GRACE / 2));
		this.a.renew(List.of(new Renewal(SEMAPHORE, one.token(), 1, GRACE)));
		this.b.renew(List.of(new Renewal(SEMAPHORE, two.token(), 2, GRACE)));
		elapse(Duration.ofMillis(GRACE / 2 + 1));
		assertThat(this.a.permits(SEMAPHORE).used()).isEqualTo(3);
		busy(this.c.acquire(SEMAPHORE, command(SEMAPHORE, this.c.token("2"), 1)));
		assertThat(this.a.release(SEMAPHORE, one)).isTrue();
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("2"));
	}

}
