package io.holdfast.engine.store;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
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
 * What every {@link LeaseStore} must do after a fail-over, if it is to give its holders
 * grace.
 */
public abstract class FailOverGraceContract extends StoreContract {

	/** The longest lease. */
	protected static final long GRACE = 2_000;

	private static final Resource SEMAPHORE = new Resource(Kind.SEMAPHORE, KEY);

	/**
	 * Let another server take over.
	 * @param lost happens on the one before, and reaches no other
	 */
	protected abstract void failOver(Runnable lost);

	static Stream<Resource> resources() {
		return Stream.of(lock(KEY), SEMAPHORE);
	}

	private static AcquireCommand ask(Resource resource, String token, int permits) {
		return switch (resource.kind()) {
			case LOCK ->
				(permits == 1) ? Commands.forReader(token, GRACE, GRACE) : Commands.forLock(token, GRACE, GRACE);
			case SEMAPHORE -> new AcquireCommand(token, permits, 3, true, GRACE, GRACE);
		};
	}

	/** All there is, or all that is left of three. */
	private static AcquireCommand ask(Resource resource, Instance instance, String n) {
		return ask(resource, instance.token(n), 3);
	}

	private static boolean renew(Resource resource, Instance instance, String n) {
		AcquireCommand ask = ask(resource, instance, n);
		return instance.renew(List.of(new Renewal(resource, ask.token(), ask.permits(), GRACE))).get(0);
	}

	private void pass() {
		elapse(Duration.ofMillis(GRACE + 1));
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("no request is granted anything new while a holder may not be known")
	void grantsNothing(Resource resource) {
		failOver(() -> granted(this.a.acquire(resource, ask(resource, this.a, "1"))));
		// It begins with the first command.
		assertThat(busy(this.b.acquire(resource, ask(resource, this.b, "1"))).ownerTtlMillis()).isBetween(GRACE - 500,
				GRACE);
		assertThat(busy(this.b.attempt(resource, ask(resource, this.b, "2"))).foreign()).isFalse();
		busy(newInstance().acquire(resource, ask(resource, this.c, "1")));
		pass();
		granted(this.b.acquire(resource, ask(resource, this.b, "1")));
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("a holder that renews has its lease again, as the only one, with all that belongs to it")
	void holdsAgain(Resource resource) {
		failOver(() -> granted(this.a.acquire(resource, ask(resource, this.a, "1"))));
		assertThat(renew(resource, this.a, "1")).isTrue();
		assertThat(renew(resource, this.a, "1")).isTrue();
		elapse(Duration.ofMillis(GRACE * 3 / 5));
		assertThat(renew(resource, this.a, "1")).isTrue();
		elapse(Duration.ofMillis(GRACE * 3 / 5));
		busy(this.b.acquire(resource, ask(resource, this.b, "1")));
		assertThat(renew(resource, this.a, "1")).isTrue();
		assertThat(this.a.release(resource, ask(resource, this.a, "1"))).isTrue();
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		assertThat(this.b.release(resource, ask(resource, this.b, "1"))).isTrue();
		granted(this.c.acquire(resource, ask(resource, this.c, "1")));
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("what another owner has is not held again, nor anything when the grace is over, nor what was released")
	void losesNevertheless(Resource resource) {
		granted(this.a.acquire(resource, ask(resource, this.a, "1")));
		failOver(() -> {
		});
		assertThat(renew(resource, this.a, "1")).isTrue();
		if (resource.kind() == Kind.LOCK) {
			// In the grace there may be too many permits: none of them is new.
			assertThat(renew(resource, this.b, "1")).isFalse();
		}
		assertThat(this.a.retain(resource, "2", 3, GRACE)).isFalse();
		pass();
		assertThat(renew(resource, this.a, "1")).isFalse();
		granted(this.b.acquire(resource, ask(resource, this.b, "1")));
	}

	@Test
	@DisplayName("readers that renew have the key again together, and not beside an owner")
	void readersHoldAgain() {
		Resource lock = lock(KEY);
		AcquireCommand first = ask(lock, this.a.token("1"), 1);
		AcquireCommand second = ask(lock, this.b.token("1"), 1);
		granted(this.c.acquire(lock, ask(lock, this.c, "1")));
		busy(this.b.acquire(lock, second));
		failOver(() -> {
			this.c.release(lock, ask(lock, this.c, "1"));
			granted(this.a.acquire(lock, first));
			granted(this.b.acquire(lock, second));
		});
		assertThat(this.a.renew(List.of(new Renewal(lock, first.token(), 1, GRACE)))).as("an owner is there")
			.containsExactly(false);
		this.c.release(lock, ask(lock, this.c, "1"));
		assertThat(this.a.renew(List.of(new Renewal(lock, first.token(), 1, GRACE)))).containsExactly(true);
		assertThat(this.b.renew(List.of(new Renewal(lock, second.token(), 1, GRACE)))).containsExactly(true);
		assertThat(renew(lock, this.c, "2")).as("readers are there").isFalse();
		assertThat(get(this.a.store.inspect(lock, 0, 0)).readerCount()).isEqualTo(2);
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("a release that finds nothing is not certain before the grace is over")
	void knowsNothingOfReleases(Resource resource) {
		failOver(() -> granted(this.a.acquire(resource, ask(resource, this.a, "1"))));
		AcquireCommand ended = ask(resource, this.a, "1");
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
	@DisplayName("who stands in the queue is not served by releases, but keeps its place")
	void keepsTheQueue(Resource resource) {
		granted(this.a.acquire(resource, ask(resource, this.a, "1")));
		busy(this.b.acquire(resource, ask(resource, this.b, "1")));
		failOver(() -> {
		});
		assertThat(this.a.release(resource, ask(resource, this.a, "1"))).isTrue();
		busy(this.c.acquire(resource, ask(resource, this.c, "1")));
		busy(this.b.acquire(resource, ask(resource, this.b, "1")));
		assertThat(this.b.wakeUps).isEmpty();
		pass();
		busy(this.c.acquire(resource, ask(resource, this.c, "1")));
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("who waits is told of a fence that no earlier hand-off was above")
	void tellsOldHandOvers(Resource resource) {
		granted(this.c.acquire(resource, ask(resource, this.c, "1")));
		this.c.release(resource, ask(resource, this.c, "1"));
		failOver(() -> {
			granted(this.a.acquire(resource, ask(resource, this.a, "1")));
			busy(this.b.acquire(resource, ask(resource, this.b, "1")));
			this.a.release(resource, ask(resource, this.a, "1"));
			this.b.awaitWakeUp();
		});
		assertThat(renew(resource, this.a, "1")).as("a late copy").isTrue();
		long old = this.b.wakeUps.get(0).fence();
		assertThat(busy(this.b.acquire(resource, ask(resource, this.b, "1"))).fence()).isGreaterThanOrEqualTo(old);
		pass();
		assertThat(granted(this.b.acquire(resource, ask(resource, this.b, "1"))).fence()).isGreaterThan(old);
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("who waited by what the server knows, but holds already, waits no more")
	void waitsNoMore(Resource resource) {
		granted(this.a.acquire(resource, ask(resource, this.a, "1")));
		busy(this.b.acquire(resource, ask(resource, this.b, "1")));
		failOver(() -> {
			this.a.release(resource, ask(resource, this.a, "1"));
			this.b.awaitWakeUp();
		});
		this.a.release(resource, ask(resource, this.a, "1"));
		assertThat(renew(resource, this.b, "1")).isTrue();
		granted(this.b.acquire(resource, ask(resource, this.b, "1")));
		assertThat((resource.kind() == Kind.LOCK) ? this.b.inspect().waiting() : this.b.permits(resource).waiting())
			.isZero();
	}

	@ParameterizedTest
	@MethodSource("resources")
	@DisplayName("one of this instance is not put in a holder's place")
	void bringsInNoNext(Resource resource) {
		granted(this.a.acquire(resource, ask(resource, this.a, "1")));
		failOver(() -> {
		});
		ReleaseReply reply = this.a.release(resource, ask(resource, this.a, "1"), ask(resource, this.a, "2"));
		assertThat(reply.released()).isTrue();
		assertThat(busy(reply.next()).ownerTtlMillis()).isBetween(1L, GRACE);
		pass();
		granted(this.a.acquire(resource, ask(resource, this.a, "2")));
	}

	@Test
	@DisplayName("permits that are held again count, whether their holder waited for them or has others")
	void countsPermits() {
		AcquireCommand one = ask(SEMAPHORE, this.a.token("1"), 1);
		AcquireCommand two = ask(SEMAPHORE, this.b.token("1"), 2);
		granted(this.c.acquire(SEMAPHORE, ask(SEMAPHORE, this.c, "1")));
		busy(this.b.acquire(SEMAPHORE, two));
		failOver(() -> {
			this.c.release(SEMAPHORE, ask(SEMAPHORE, this.c, "1"));
			granted(this.b.acquire(SEMAPHORE, two));
			granted(this.a.acquire(SEMAPHORE, one));
		});
		assertThat(this.a.renew(List.of(new Renewal(SEMAPHORE, one.token(), 1, GRACE)))).containsExactly(true);
		assertThat(this.b.renew(List.of(new Renewal(SEMAPHORE, two.token(), 2, GRACE)))).containsExactly(true);
		assertThat(this.a.permits(SEMAPHORE).used()).as("with those that were released unseen").isEqualTo(6);
		assertThat(this.a.permits(SEMAPHORE).waiting()).isZero();
		elapse(Duration.ofMillis(GRACE / 2));
		this.a.renew(List.of(new Renewal(SEMAPHORE, one.token(), 1, GRACE)));
		this.b.renew(List.of(new Renewal(SEMAPHORE, two.token(), 2, GRACE)));
		elapse(Duration.ofMillis(GRACE / 2 + 1));
		assertThat(this.a.permits(SEMAPHORE).used()).isEqualTo(3);
		busy(this.c.acquire(SEMAPHORE, ask(SEMAPHORE, this.c.token("2"), 1)));
		assertThat(this.a.release(SEMAPHORE, one)).isTrue();
		assertThat(this.c.awaitWakeUp().token()).isEqualTo(this.c.token("2"));
	}

}
