package io.holdfast.engine.queue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.holdfast.LockLease;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.ScriptedEngine;
import io.holdfast.engine.request.EngineSettings;
import io.holdfast.engine.store.HandOverLimits;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Which waiters have a contender: those alone whose token is named in the store.
 */
class ContenderTests extends ScriptedEngine {

	private static final int COUNT = 3;

	ContenderTests() {
		super(EngineSettings.defaults().localHandOver(new HandOverLimits(COUNT, Duration.ofMillis(5))));
	}

	private List<CompletableFuture<LockLease>> ask(int times) {
		return Stream.generate(() -> this.service.acquireAsync(REQUEST)).limit(times).toList();
	}

	private List<Waiter> waiters() {
		return coordinators().waiters().join();
	}

	private static boolean hasContender(Waiter waiter) {
		try {
			return waiter.contender() != null;
		}
		catch (NullPointerException ex) {
			return false;
		}
	}

	@Test
	void aTurnWithinTheInstanceTakesNone() {
		LockLease lease = granted(REQUEST, 100);
		List<CompletableFuture<LockLease>> answers = ask(COUNT);
		List<Waiter> waiters = waiters();
		assertThat(waiters).hasSize(COUNT).noneMatch(ContenderTests::hasContender);
		// Those in the queue, and contenders.
		assertThat(coordinators().waiting()).isEqualTo(COUNT);
		for (CompletableFuture<LockLease> answer : answers) {
			lease.release();
			lease = answer.join();
			assertThat(lease.isHeld()).isTrue();
		}
		assertThat(waiters).noneMatch(ContenderTests::hasContender);
		assertThat(coordinators().waiting()).isZero();
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	void whoIsBroughtIntoTheStoreHasOneOfTheTokenThatIsNamedThere() {
		LockLease lease = granted(REQUEST, 100);
		List<CompletableFuture<LockLease>> answers = ask(COUNT + 2);
		List<Waiter> waiters = waiters();
		lease.release();
		answers.subList(0, COUNT).forEach((answer) -> answer.join().releaseAsync());
		assertThat(this.store.sent()).containsExactly("acquire 1", "release 1 next 5");
		assertThat(waiters).filteredOn(ContenderTests::hasContender).containsExactly(waiters.get(COUNT));
		Contender contender = waiters.get(COUNT).contender();
		assertThat(contender.token).isEqualTo(ID + ":5");
		assertThat(coordinators().contender(contender.token)).isSameAs(contender);
		assertThat(coordinators().waiting()).isEqualTo(2);
	}

	@Test
	void ofThoseThatWaitForPermitsWhichAreHeldHereOneHasOneAndPassesItOn() {
		SemaphoreRequest request = SemaphoreRequest.of("k", 1)
			.waitTime(Duration.ofSeconds(10))
			.leaseTime(Duration.ofSeconds(30));
		CompletableFuture<PermitLease> held = this.semaphores.acquireAsync(request);
		this.store.last("acquire 1").granted(10, 30_000);
		for (int i = 0; i < COUNT; i++) {
			this.semaphores.acquireAsync(request);
		}
		List<Waiter> waiters = waiters();
		assertThat(waiters).filteredOn(ContenderTests::hasContender).containsExactly(waiters.get(0));
		Contender contender = waiters.get(0).contender();
		held.join().release();
		assertThat(waiters).filteredOn(ContenderTests::hasContender).containsExactly(waiters.get(1));
		assertThat(waiters.get(1).contender()).isSameAs(contender);
		assertThat(coordinators().waiting()).isEqualTo(COUNT - 1);
		assertThat(this.store.sent()).containsExactly("acquire 1", "acquire 2");
	}

}
