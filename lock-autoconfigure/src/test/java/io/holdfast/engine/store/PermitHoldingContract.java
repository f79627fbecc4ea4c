package io.holdfast.engine.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Rejected;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource.Kind;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Contract of every {@link LeaseStore} for held permits of a semaphore. See
 * {@link PermitStoreContract}.
 */
abstract class PermitHoldingContract extends StoreContract {

	protected static final Resource SEMAPHORE = new Resource(Kind.SEMAPHORE, KEY);

	protected static final Standing UNUSED = Standing.unused(SEMAPHORE);

	/** Default limit of requests. */
	protected static final int LIMIT = 5;

	/** Time after which a short lease has ended. */
	protected static final Duration MORE_THAN_SHORT = Duration.ofMillis(SHORT + 20);

	protected static AcquireCommand command(Instance instance, String n, int permits) {
		return command(instance, n, permits, LIMIT);
	}

	protected static AcquireCommand command(Instance instance, String n, int permits, int limit) {
		return new AcquireCommand(instance.token(n), permits, limit, true, LEASE, CLAIM);
	}

	protected static AcquireCommand unfair(AcquireCommand command) {
		return new AcquireCommand(command.token(), command.permits(), command.limit(), false, command.leaseMillis(),
				command.claimMillis());
	}

	/** Return the command with a short lease. */
	protected static AcquireCommand brief(AcquireCommand command) {
		return new AcquireCommand(command.token(), command.permits(), command.limit(), command.fair(), SHORT, SHORT);
	}

	protected static AcquireReply acquire(Instance instance, String n, int permits) {
		return instance.acquire(SEMAPHORE, command(instance, n, permits));
	}

	protected static boolean release(Instance instance, String n, int permits) {
		return instance.release(SEMAPHORE, command(instance, n, permits));
	}

	protected static boolean renew(Instance instance, Resource resource, String n, int permits, long leaseMillis) {
		Renewal renewal = new Renewal(resource, instance.token(n), permits, leaseMillis);
		return get(instance.store.renew(List.of(renewal))).get(0);
	}

	protected Standing state() {
		return this.a.permits(SEMAPHORE);
	}

	/** Return the holders with their numbers of permits. */
	protected List<String> holders(Resource resource) {
		return this.a.permits(resource)
			.holders()
			.stream()
			.map((holder) -> holder.token() + " " + holder.permits())
			.sorted()
			.toList();
	}

	@Test
	@DisplayName("S10 free permits are granted for the lease time, with growing fences")
	void grantsFreePermits() {
		Granted first = granted(acquire(this.a, "1", 2));
		Granted second = granted(acquire(this.b, "1", 3));
		assertThat(first.fence()).isPositive();
		assertThat(first.ttlMillis()).isBetween(LEASE - 1000, LEASE);
		assertThat(second.fence()).isGreaterThan(first.fence());
		Busy busy = busy(acquire(this.c, "1", 1));
		assertThat(busy.ownerTtlMillis()).isBetween(LEASE - 5000, LEASE);
		assertThat(busy.fence()).isEqualTo(second.fence());
		assertThat(busy.foreign()).isFalse();
		assertThat(state().used()).isEqualTo(5);
	}

	@Test
	@DisplayName("A busy answer has the number of permits in use and the limit")
	void tellsUse() {
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", 2))));
		granted(acquire(this.b, "1", 2));
		assertThat(busy(acquire(this.c, "1", 2))).extracting(Busy::held, Busy::limit, Busy::owner)
			.containsExactly(4, LIMIT, null);
		assertThat(busy(this.c.attempt(SEMAPHORE, command(this.c, "2", 3, 4))))
			.extracting(Busy::held, Busy::limit, Busy::owner)
			.containsExactly(4, 4, null);
		get(this.a.store.limit(SEMAPHORE, 3));
		assertThat(busy(this.c.attempt(SEMAPHORE, command(this.c, "3", 1)))).extracting(Busy::held, Busy::limit)
			.containsExactly(4, 3);
		get(this.a.store.limit(SEMAPHORE, 2));
		elapse(MORE_THAN_SHORT);
		assertThat(busy(this.c.attempt(SEMAPHORE, command(this.c, "4", 1)))).extracting(Busy::held, Busy::limit)
			.containsExactly(2, 2);
	}

	@Test
	@DisplayName("A busy answer has the end of the first lease, without expired leases")
	void tellsFirstEnd() {
		granted(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", 1))));
		granted(acquire(this.a, "1", 2));
		elapse(MORE_THAN_SHORT);
		assertThat(busy(this.c.attempt(SEMAPHORE, command(this.c, "1", 4))).ownerTtlMillis()).isBetween(LEASE - 5000,
				LEASE);
		granted(this.b.acquire(SEMAPHORE, new AcquireCommand(this.b.token("2"), 3, LIMIT, true, 10_000, CLAIM)));
		assertThat(busy(acquire(this.c, "1", 1)).ownerTtlMillis()).isBetween(1L, 10_000L);
	}

	@Test
	@DisplayName("A repeated acquire of a token is the same grant, and never shortens the lease")
	void acquireIsIdempotent() {
		Granted first = granted(acquire(this.a, "1", 2));
		Granted second = granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", 2))));
		assertThat(second.fence()).isGreaterThanOrEqualTo(first.fence());
		assertThat(second.ttlMillis()).isGreaterThan(SHORT);
		assertThat(state().used()).isEqualTo(2);
		granted(this.a.acquire(SEMAPHORE, new AcquireCommand(this.a.token("1"), 2, LIMIT, true, 2 * LEASE, CLAIM)));
		assertThat(state().holders().get(0).ttlMillis()).isGreaterThan(LEASE);
		assertThat(release(this.a, "1", 2)).isTrue();
		assertThat(state().used()).isZero();
	}

	@Test
	@DisplayName("Two semaphores are independent, and so are a semaphore and a lock of the same name")
	void keysAreIndependent() {
		granted(acquire(this.a, "1", LIMIT));
		granted(this.b.acquire(new Resource(Kind.SEMAPHORE, "another"), command(this.b, "1", LIMIT)));
		granted(this.c.acquire("1"));
		granted(this.b.acquire(new Resource(Kind.LOCK, "another"), Commands.forLock(this.b.token("2"), LEASE, CLAIM)));
	}

	@Test
	@DisplayName("A request above the limit is rejected with the limit")
	void refusesTooMany() {
		assertThat(acquire(this.a, "1", LIMIT + 1)).isEqualTo(new Rejected(LIMIT));
		assertThat(this.a.attempt(SEMAPHORE, command(this.a, "1", LIMIT + 1))).isEqualTo(new Rejected(LIMIT));
		assertThat(state()).isEqualTo(UNUSED);
	}

	@Test
	@DisplayName("S11, S13 a lease ends by the time of the store, and its permits are free")
	void endsByTime() {
		Granted first = granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", LIMIT))));
		elapse(MORE_THAN_SHORT);
		assertThat(renew(this.a, SEMAPHORE, "1", LIMIT, LEASE)).isFalse();
		assertThat(state()).extracting(Standing::used, Standing::holderCount).containsExactly(0, 0);
		Granted second = granted(acquire(this.b, "1", LIMIT));
		assertThat(second.fence()).isGreaterThan(first.fence());
		assertThat(holders(SEMAPHORE)).containsExactly(this.b.token("1") + " 5");
	}

	@Test
	@DisplayName("F43 double, foreign and late releases never create permits")
	void releasesOnce() {
		granted(acquire(this.a, "1", 3));
		granted(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", 2))));
		assertThat(release(this.c, "1", 3)).isFalse();
		assertThat(state().used()).isEqualTo(5);
		assertThat(release(this.a, "1", 3)).isTrue();
		assertThat(release(this.a, "1", 3)).isFalse();
		elapse(MORE_THAN_SHORT);
		granted(acquire(this.c, "1", 4));
		assertThat(release(this.b, "1", 2)).isFalse();
		assertThat(state().used()).isEqualTo(4);
		busy(acquire(this.a, "2", 2));
	}

	@Test
	@DisplayName("A token can be released without knowledge of its number of permits")
	void endsUnknown() {
		granted(acquire(this.a, "1", 4));
		busy(acquire(this.b, "1", 3));
		assertThat(this.c.release(SEMAPHORE, AcquireCommand.unknown(this.b.token("1"), LEASE))).isFalse();
		assertThat(state().waiting()).isZero();
		assertThat(this.c.release(SEMAPHORE, AcquireCommand.unknown(this.a.token("1"), LEASE))).isTrue();
		assertThat(this.c.release(SEMAPHORE, AcquireCommand.unknown(this.a.token("1"), LEASE))).isFalse();
		assertThat(state()).isEqualTo(UNUSED);
	}

	@Test
	@DisplayName("S12 a renewal may extend a lease, but never shortens a lease")
	void renewsByLengthening() {
		granted(acquire(this.a, "1", 2));
		assertThat(renew(this.a, SEMAPHORE, "1", 2, 2 * LEASE)).isTrue();
		assertThat(state().holders().get(0).ttlMillis()).isGreaterThan(LEASE);
		assertThat(renew(this.a, SEMAPHORE, "1", 2, SHORT)).isTrue();
		assertThat(state().holders().get(0).ttlMillis()).isGreaterThan(LEASE);
		assertThat(renew(this.b, SEMAPHORE, "1", 2, LEASE)).isFalse();
		busy(acquire(this.b, "2", 4));
		assertThat(renew(this.b, SEMAPHORE, "2", 4, LEASE)).isFalse();
		assertThat(state().used()).isEqualTo(2);
	}

	@Test
	@DisplayName("Retained permits end at the given time, earlier or later than before")
	void retains() {
		Resource resource = new Resource(Kind.SEMAPHORE, "retained");
		granted(this.a.acquire(resource, command(this.a, "1", LIMIT)));
		busy(this.b.acquire(resource, command(this.b, "1", 1)));
		assertThat(this.b.retain(resource, "1", 1, SHORT)).isFalse();
		assertThat(this.a.retain(resource, "1", LIMIT, 2 * LEASE)).isTrue();
		assertThat(this.a.permits(resource).holders().get(0).ttlMillis()).isGreaterThan(LEASE);
		assertThat(this.a.retain(resource, "1", LIMIT, SHORT)).isTrue();
		assertThat(this.a.permits(resource).holders().get(0).ttlMillis()).isLessThanOrEqualTo(SHORT);
		elapse(MORE_THAN_SHORT);
		assertThat(this.a.retain(resource, "1", LIMIT, LEASE)).isFalse();
		granted(this.b.acquire(resource, command(this.b, "1", 1)));
	}

	@Test
	@DisplayName("Renewed permits outlast the time of their grant")
	void renewedOutlivesGrant() {
		granted(this.a.acquire(SEMAPHORE, brief(command(this.a, "1", 2))));
		assertThat(renew(this.a, SEMAPHORE, "1", 2, LEASE)).isTrue();
		elapse(MORE_THAN_SHORT.plus(MORE_THAN_SHORT));
		assertThat(holders(SEMAPHORE)).containsExactly(this.a.token("1") + " 2");
		assertThat(release(this.a, "1", 2)).isTrue();
	}

	@Test
	@DisplayName("Each lease of a renewal is renewed for its own time")
	void renewsEachForItsOwnTime() {
		Resource other = new Resource(Kind.SEMAPHORE, "other");
		granted(acquire(this.a, "1", 2));
		granted(this.a.acquire(other, command(this.a, "2", 1)));
		assertThat(this.a.renew(List.of(new Renewal(SEMAPHORE, this.a.token("1"), 2, 2 * LEASE),
				new Renewal(other, this.a.token("2"), 1, 4 * LEASE))))
			.containsExactly(true, true);
		assertThat(state().holders().get(0).ttlMillis()).isBetween(LEASE + 1L, 2L * LEASE);
		assertThat(this.b.permits(other).holders().get(0).ttlMillis()).isBetween(2L * LEASE + 1, 4L * LEASE);
	}

	@Test
	@DisplayName("Many renewals are answered in order, with lost leases among held leases of the same semaphore")
	void renewsManyInOrder() {
		List<Renewal> renewals = new ArrayList<>();
		List<Boolean> expected = new ArrayList<>();
		for (int i = 0; i < 300; i++) {
			Resource resource = new Resource(Kind.SEMAPHORE, "many" + i / 3);
			boolean kept = i % 7 != 0;
			if (kept) {
				granted(this.a.acquire(resource, command(this.a, "" + i, 1)));
			}
			renewals.add(new Renewal(resource, this.a.token("" + i), 1, 2 * LEASE));
			expected.add(kept);
		}
		assertThat(this.a.renew(renewals)).isEqualTo(expected);
		Standing state = this.b.permits(new Resource(Kind.SEMAPHORE, "many1"));
		assertThat(state.holders()).hasSize(3).allMatch((holder) -> holder.ttlMillis() > LEASE);
		assertThat(get(this.a.store.renew(List.of()))).isEmpty();
	}

	@Test
	@DisplayName("An inspection shows the current state of a semaphore, and changes nothing")
	void inspects() {
		assertThat(state()).isEqualTo(UNUSED);
		granted(acquire(this.a, "1", 2));
		granted(this.b.acquire(SEMAPHORE, brief(command(this.b, "1", 3))));
		granted(this.c.acquire(SEMAPHORE, new AcquireCommand(this.c.token("1"), 1, 8, true, 10_000, CLAIM)));
		busy(this.c.acquire(SEMAPHORE, command(this.c, "2", 7, 8)));
		elapse(MORE_THAN_SHORT);
		Standing state = state();
		assertThat(state)
			.extracting(Standing::limit, Standing::asked, Standing::used, Standing::holderCount, Standing::waiting)
			.containsExactly(null, 8, 3, 2, 1);
		assertThat(state.holders()).extracting(TokenState::token).containsExactly(this.c.token("1"), this.a.token("1"));
		assertThat(state.holders()).extracting(TokenState::permits).containsExactly(1, 2);
		assertThat(state.holders().get(0).ttlMillis()).isBetween(1L, 10_000L);
		assertThat(state.holders().get(1).ttlMillis()).isBetween(10_001L, LEASE);
		Standing first = get(this.b.store.inspect(SEMAPHORE, 1, 0));
		assertThat(first.holderCount()).isEqualTo(2);
		assertThat(first.holders()).extracting(TokenState::token).containsExactly(this.c.token("1"));
		assertThat(get(this.b.store.inspect(SEMAPHORE, 0, 0)).holders()).isEmpty();
	}

	@Test
	@DisplayName("Limits and requests may be large")
	void countsLargeNumbers() {
		for (int i = 0; i < 20; i++) {
			granted(this.a.acquire(SEMAPHORE, command(this.a, "" + i, 5_000, 100_000)));
		}
		busy(this.b.acquire(SEMAPHORE, command(this.b, "1", 5_000, 100_000)));
		assertThat(this.b.acquire(SEMAPHORE, command(this.b, "2", 100_001, 100_000))).isEqualTo(new Rejected(100_000));
		assertThat(state()).extracting(Standing::used, Standing::holderCount, Standing::waiting)
			.containsExactly(100_000, 20, 1);
		assertThat(release(this.a, "8", 5_000)).isTrue();
		assertThat(this.b.awaitWakeUp().token()).isEqualTo(this.b.token("1"));
		assertThat(state().used()).isEqualTo(100_000);
	}

	@Test
	@DisplayName("F43 random commands neither create nor lose permits")
	void conservesPermits() {
		Random random = new Random(20_240_731);
		List<Instance> all = List.of(this.a, this.b, this.c);
		for (int i = 0; i < 400; i++) {
			Instance instance = all.get(random.nextInt(3));
			String n = "" + (1 + random.nextInt(4));
			// A token always has the same number of permits.
			int permits = 1 + n.hashCode() % LIMIT;
			AcquireCommand command = command(instance, n, permits);
			switch (random.nextInt(5)) {
				case 0 -> release(instance, n, permits);
				case 1 -> instance.attempt(SEMAPHORE, unfair(command));
				case 2 -> instance.acquire(SEMAPHORE, (i % 50 == 0) ? brief(command) : command);
				case 3 -> renew(instance, SEMAPHORE, n, permits, LEASE);
				default -> instance.release(SEMAPHORE, AcquireCommand.unknown(instance.token(n), LEASE));
			}
			if (i % 100 == 99) {
				elapse(MORE_THAN_SHORT);
			}
			Standing state = get(instance.store.inspect(SEMAPHORE, 100, 0));
			assertThat(state.used()).as("step %d", i)
				.isEqualTo(state.holders().stream().mapToInt(TokenState::permits).sum())
				.isBetween(0, LIMIT);
		}
		all.forEach((instance) -> List.of("1", "2", "3", "4")
			.forEach((n) -> instance.release(SEMAPHORE, AcquireCommand.unknown(instance.token(n), LEASE))));
		assertThat(state()).isEqualTo(UNUSED);
	}

}
