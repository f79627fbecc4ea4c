package io.holdfast.engine.fleet;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockHolder;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.ScriptedEngine;
import io.holdfast.engine.ScriptedStore;
import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.InstanceStore.Member;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Registration of an instance in the fleet.
 */
@ExtendWith(OutputCaptureExtension.class)
class InstanceRegistrationTests extends ScriptedEngine {

	private static final long REFRESH = TimeUnit.MINUTES.toMillis(1);

	private static final long RETRY = TimeUnit.SECONDS.toMillis(10);

	private static final String INCOMPATIBILITY = "others do not fit";

	private static final String WARNING = "Other instances and their endpoints do not see this one";

	private static final String ANSWERED = "Redis has answered: this instance is registered";

	private static final String NO_LEASES = "No lock or permit is granted before Redis has answered: trouble";

	private static final LockRequest AT_ONCE = LockRequest.of("at once").waitTime(Duration.ZERO);

	private static final SemaphoreRequest PERMIT = SemaphoreRequest.of("at once", 1).waitTime(Duration.ZERO);

	private static final Resource LIMITED = new Resource(Kind.SEMAPHORE, "limited");

	private void register() {
		Fleet.of(this.engine).register(() -> new InstanceInfo("shop", "host", 1));
		this.store.elapse(0);
	}

	private void answer() {
		this.store.last("join").done(null);
	}

	private void fail(boolean temporary) {
		this.store.last("join").fail(temporary);
	}

	@Test
	@DisplayName("An instance joins at its start, and again every minute")
	void joinsAndRefreshes() {
		assertThat(Fleet.of(this.engine).info()).isNull();
		register();
		assertThat(this.store.sent()).containsExactly("join shop after 0");
		answer();
		this.store.elapse(REFRESH - 1);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(1);
		assertThat(this.store.sent()).containsExactly("join shop after " + REFRESH);
		answer();
		this.store.elapse(REFRESH);
		assertThat(this.store.sent()).containsExactly("join shop after " + 2 * REFRESH);
		assertThat(Fleet.of(this.engine).info()).isEqualTo(new InstanceInfo("shop", "host", 1));
	}

	@Test
	@DisplayName("Instances that have left keep their names while there is room, the latest for the longest")
	void namesOfFormerInstances() {
		register();
		this.store.members = members("first", InstanceRegistration.MAX_NAMES - 1);
		answer();
		this.store.members = members("second", 1);
		this.store.elapse(REFRESH);
		answer();
		assertThat(findKnown("first", 0)).isEqualTo("first");
		assertThat(findKnown("first", InstanceRegistration.MAX_NAMES - 2)).isEqualTo("first");
		assertThat(findKnown("second", 0)).isEqualTo("second");
		this.store.members = members("third", 2);
		this.store.elapse(REFRESH);
		answer();
		assertThat(findKnown("third", 1)).isEqualTo("third");
		assertThat(findKnown("second", 0)).isEqualTo("second");
		assertThat(findKnown("first", InstanceRegistration.MAX_NAMES - 4)).isEqualTo("first");
		assertThat(findKnown("first", InstanceRegistration.MAX_NAMES - 3)).isNull();
		this.store.members = List.of();
		Fleet.of(this.engine).members();
		assertThat(findKnown("third", 1)).isEqualTo("third");
	}

	private @Nullable String findKnown(String application, int number) {
		LockHolder holder = Fleet.of(this.engine).findKnown(application + number);
		return (holder != null) ? holder.application() : null;
	}

	private static List<Member> members(String application, int count) {
		return IntStream.range(0, count)
			.mapToObj((number) -> new Member(application + number, new InstanceInfo(application, "host", 1), 0, 0))
			.toList();
	}

	@Test
	@DisplayName("An error of the source of the description is trouble like any other, and the registration is tried"
			+ " again")
	void triesAgainAfterAnError() {
		AtomicBoolean failed = new AtomicBoolean();
		Fleet.of(this.engine).register(() -> {
			if (failed.compareAndSet(false, true)) {
				ScriptedStore.fail();
			}
			return new InstanceInfo("shop", "host", 1);
		});
		this.store.elapse(0);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(RETRY);
		assertThat(this.store.sent()).containsExactly("join shop after " + RETRY);
	}

	@Test
	@DisplayName("An outage of the registration is logged once, after a second failure, and so is its end")
	void warnsOnce(CapturedOutput output) {
		register();
		answer();
		this.store.elapse(REFRESH);
		fail(true);
		assertThat(output).doesNotContain(WARNING);
		this.store.elapse(RETRY);
		fail(true);
		assertThat(output).containsOnlyOnce(WARNING);
		this.store.elapse(RETRY);
		fail(true);
		assertThat(output).containsOnlyOnce(WARNING).doesNotContain(ANSWERED);
		this.store.elapse(RETRY);
		answer();
		this.store.elapse(REFRESH);
		answer();
		assertThat(output).containsOnlyOnce(ANSWERED);
		this.store.elapse(REFRESH);
		fail(false);
		assertThat(output.toString().split(WARNING)).hasSize(3);
		assertThat(output).doesNotContain(NO_LEASES).doesNotContain(ID);
	}

	@Test
	@DisplayName("Trouble at the start is logged with its effect: no leases")
	void warnsAtTheStart(CapturedOutput output) {
		register();
		fail(true);
		assertThat(output).doesNotContain(NO_LEASES);
		this.store.elapse(RETRY);
		fail(true);
		assertThat(output).containsOnlyOnce(NO_LEASES).doesNotContain(WARNING);
		this.store.elapse(RETRY);
		answer();
		assertThat(output).containsOnlyOnce(ANSWERED);
	}

	@Test
	@DisplayName("A join without an answer is repeated, and after the answer the instance joins as often as any other")
	void joinsAgainAfterSilence() {
		register();
		ScriptedStore.Command first = this.store.last("join");
		this.store.sent();
		this.store.elapse(EngineSettings.defaults().commandTimeout().toMillis() + RETRY - 1);
		assertThat(this.store.sent()).isEmpty();
		this.store.elapse(1);
		assertThat(this.store.sent()).hasSize(1);
		first.done(null);
		this.store.elapse(0);
		assertThat(this.store.sent()).isEmpty();
		answer();
		this.store.elapse(REFRESH);
		assertThat(this.store.sent()).hasSize(1);
	}

	@Test
	@DisplayName("Leases go on where only the fleet's key is unavailable, for longer than an instance is remembered")
	void fleetKeyAway() {
		register();
		answer();
		for (int i = 0; i < 40; i++) {
			this.store.elapse(5_000);
			this.store.last("join").fail(true);
		}
		CompletableFuture<LockLease> lease = this.service.acquireAsync(REQUEST);
		this.store.elapse(0);
		this.store.last("join").fail(true);
		this.store.last("acquire 1").granted(1, 30_000);
		assertThat(lease).isCompleted();
	}

	/** An engine with a new id at each start. */
	private LeaseEngine engineOfManyIds() {
		AtomicInteger ids = new AtomicInteger();
		LeaseEngine engine = new LeaseEngine(this.store, settings(), this.store, Runnable::run,
				() -> "0123456789abcdef0123456789abcde" + ids.incrementAndGet(), () -> 1.0);
		engine.resume();
		Fleet.of(engine).register(() -> new InstanceInfo("cart", "host", 1));
		this.store.elapse(0);
		return engine;
	}

	@Test
	@DisplayName("The answer to a join before a restart does not keep the instance from joining again")
	void oldAnswer() {
		LeaseEngine engine = engineOfManyIds();
		ScriptedStore.Command first = this.store.last("join");
		engine.shutDown(Duration.ZERO);
		engine.resume();
		this.store.sent();
		first.done(null);
		this.store.elapse(0);
		assertThat(this.store.sent()).contains("join cart after 0");
	}

	@Test
	@DisplayName("A doubtful token from before a restart is released again while the instance joins")
	void releasesAgain() {
		LeaseEngine engine = engineOfManyIds();
		answer();
		CompletableFuture<LockLease> lease = new DefaultLockService(engine).acquireAsync(REQUEST);
		this.store.last("acquire 1").fail(true);
		this.store.reconnects++;
		this.store.elapse(1000);
		this.store.last("acquire 1").granted(1, 30_000);
		lease.join().releaseAsync();
		this.store.last("release 1").released(true);
		engine.shutDown(Duration.ZERO);
		this.store.elapse(0);
		this.store.last("leave").done(null);
		engine.resume();
		this.store.sent();
		this.store.elapse(20_000);
		assertThat(this.store.sent()).anyMatch((command) -> command.startsWith("release 1"));
	}

	@Test
	@DisplayName("Leaving before the first join logs no warning, as after a failed start")
	void leavesInSilence(CapturedOutput output) {
		register();
		this.engine.shutDown(Duration.ofSeconds(1));
		fail(false);
		assertThat(output).doesNotContain(WARNING);
	}

	@Test
	@DisplayName("An instance whose description fails gets leases all the same")
	void survivesItsSource(CapturedOutput output) {
		Fleet.of(this.engine).register(() -> {
			throw new IllegalStateException("no name");
		});
		this.store.elapse(0);
		assertThat(this.store.sent()).isEmpty();
		assertThat(output).contains("no name");
		this.service.acquireAsync(REQUEST);
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	@DisplayName("At shut-down an instance leaves, and sends nothing after that")
	void leaves() {
		register();
		answer();
		this.store.sent();
		CompletableFuture<?> over = this.engine.shutDown(Duration.ofSeconds(10));
		assertThat(this.store.sent()).containsExactly("leave");
		assertThat(over).isNotDone();
		this.store.last("leave").done(null);
		assertThat(over).isCompleted();
		this.store.elapse(2 * REFRESH);
		assertThat(this.store.sent()).isEmpty();
		assertThat(this.engine.shutDown(Duration.ZERO)).isCompleted();
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	@DisplayName("An instance leaves only after its join, or its entry would stay")
	void leavesAfterJoining() {
		register();
		this.store.sent();
		this.engine.shutDown(Duration.ZERO);
		this.store.elapse(0);
		assertThat(this.store.sent()).isEmpty();
		answer();
		assertThat(this.store.sent()).containsExactly("leave");
	}

	@Test
	@DisplayName("A silent store keeps no instance from shutting down")
	void leavesASilentStore() {
		register();
		answer();
		CompletableFuture<?> over = this.engine.shutDown(Duration.ZERO);
		this.store.elapse(249);
		assertThat(over).isNotDone();
		this.store.elapse(1);
		assertThat(over).isCompleted();
	}

	@Test
	@DisplayName("An instance that is resumed after a shut-down joins again")
	void joinsAgain() {
		register();
		answer();
		this.engine.shutDown(Duration.ZERO);
		this.store.elapse(0);
		this.store.last("leave").done(null);
		this.store.sent();
		this.engine.resume();
		this.store.elapse(0);
		assertThat(this.store.sent()).singleElement().asString().startsWith("join shop");
	}

	@Test
	@DisplayName("An instance that is resumed before its join is answered joins once a minute, as before")
	void joinsAgainBeforeTheAnswer() {
		register();
		ScriptedStore.Command first = this.store.last("join");
		this.engine.shutDown(Duration.ZERO);
		this.engine.resume();
		this.store.elapse(0);
		answer();
		first.done(null);
		this.store.elapse(0);
		this.store.sent();
		this.store.elapse(REFRESH);
		assertThat(this.store.sent()).hasSize(1);
		answer();
		this.store.elapse(REFRESH);
		assertThat(this.store.sent()).hasSize(1);
	}

	@Test
	@DisplayName("A lease is requested once the store has confirmed compatibility")
	void asksWhenAdmitted() {
		register();
		CompletableFuture<LockLease> lease = this.service.acquireAsync(REQUEST);
		assertThat(this.store.sent()).containsExactly("join shop after 0");
		answer();
		assertThat(this.store.sent()).containsExactly("acquire 1");
		this.store.last("acquire 1").granted(1, 30_000);
		assertThat(lease).isCompleted();
	}

	@Test
	@DisplayName("An incompatible instance gets no lease, fails with the reason, and checks again every ten seconds")
	void keptOut(CapturedOutput output) {
		register();
		CompletableFuture<LockLease> early = this.service.acquireAsync(REQUEST);
		this.store.last("join").done(INCOMPATIBILITY);
		assertFailed(early, LeaseStoreException.class, INCOMPATIBILITY);
		assertThat(this.service.acquireAsync(REQUEST)).isCompletedExceptionally();
		assertThat(this.engine.status().refusal()).isEqualTo(INCOMPATIBILITY);
		assertThat(Fleet.of(this.engine).awaitCompatibilityCheck(Duration.ZERO)).isEqualTo(INCOMPATIBILITY);
		this.store.elapse(RETRY);
		this.store.last("join").done(INCOMPATIBILITY);
		this.store.elapse(RETRY);
		assertThat(this.store.sent()).containsOnly("join shop after 0", "join shop after " + RETRY,
				"join shop after " + 2 * RETRY);
		answer();
		assertThat(Fleet.of(this.engine).awaitCompatibilityCheck(Duration.ZERO)).isNull();
		this.service.acquireAsync(REQUEST);
		assertThat(this.store.sent()).singleElement().asString().startsWith("acquire");
		assertThat(output).containsOnlyOnce(INCOMPATIBILITY);
	}

	@Test
	@DisplayName("An instance that becomes incompatible gets no further lease, and keeps its leases")
	void keptOutLater() {
		register();
		answer();
		granted(REQUEST, 1);
		this.store.answerAtOnce("renew 1 for 30000", (command) -> command.renewed(true));
		this.store.elapse(REFRESH);
		this.store.last("join").done(INCOMPATIBILITY);
		assertThat(this.engine.status().refusal()).isEqualTo(INCOMPATIBILITY);
		assertThat(this.service.acquireAsync(LockRequest.of("another"))).isCompletedExceptionally();
		this.store.sent();
		this.store.elapse(RETRY);
		assertThat(this.store.sent()).anyMatch((line) -> line.startsWith("renew 1"));
	}

	@Test
	@DisplayName("An instance that was silent beyond its retention joins again before its next request")
	void joinsBeforeItAsks() {
		register();
		answer();
		this.store.sent();
		this.store.pause(Duration.ofMinutes(3).toMillis());
		this.service.acquireAsync(REQUEST);
		this.store.elapse(0);
		assertThat(this.store.sent()).isNotEmpty().allMatch((line) -> line.startsWith("join"));
		answer();
		assertThat(this.store.sent()).containsExactly("acquire 1");
	}

	@Test
	@DisplayName("A check that fails for good, as without rights, holds back no lease")
	void asksWithoutRights() {
		register();
		CompletableFuture<LockLease> lease = this.service.acquireAsync(REQUEST);
		fail(false);
		this.store.last("acquire 1").granted(1, 30_000);
		assertThat(lease).isCompleted();
	}

	@Test
	@DisplayName("A request before the check fails as on a failing store, and repeats the check within its patience")
	void asksAgain() {
		register();
		CompletableFuture<LockLease> lease = this.service.acquireAsync(REQUEST);
		fail(true);
		assertThat(lease).isNotDone();
		this.store.elapse(RETRY / 20);
		assertThat(this.store.sent()).hasSizeGreaterThan(1).allMatch((line) -> line.startsWith("join"));
		answer();
		assertThat(this.store.sent()).contains("acquire 1");
	}

	@Test
	@DisplayName("Requests for several keys share one comparison")
	void oneComparison() {
		register();
		this.store.sent();
		fail(true);
		CompletableFuture<LockLease> first = this.service.acquireAsync(REQUEST);
		CompletableFuture<LockLease> second = this.service.acquireAsync(LockRequest.of("another"));
		this.store.elapse(0);
		assertThat(this.store.sent()).containsExactly("join shop after 0");
		answer();
		assertThat(this.store.sent()).containsExactlyInAnyOrder("acquire 1", "acquire 2");
		assertThat(List.of(first, second)).noneMatch(CompletableFuture::isDone);
	}

	@Test
	@DisplayName("Simultaneous requests of two threads share one comparison")
	void oneComparisonForTwoThreads() {
		register();
		fail(true);
		this.store.sent();
		CyclicBarrier together = new CyclicBarrier(2);
		List<CompletableFuture<@Nullable Void>> requests = Stream.generate(() -> CompletableFuture.supplyAsync(() -> {
			try {
				together.await();
			}
			catch (InterruptedException | BrokenBarrierException ex) {
				throw new IllegalStateException(ex);
			}
			return context().requestAdmission(this.store.nanoTime());
		}, (task) -> new Thread(task).start())).limit(2).toList().stream().map(CompletableFuture::join).toList();
		this.store.elapse(0);
		assertThat(this.store.sent()).singleElement().asString().startsWith("join");
		assertThat(requests).noneMatch(CompletableFuture::isDone);
		answer();
		assertThat(requests).allMatch(CompletableFuture::isDone);
	}

	@Test
	@DisplayName("A request without a wait time is sent once the versions are compared")
	void asksWithoutWaiting() {
		register();
		this.store.sent();
		CompletableFuture<Optional<LockLease>> lease = this.service.tryAcquireAsync(AT_ONCE);
		answer();
		assertThat(this.store.sent()).containsExactly("acquire 1 at once");
		this.store.last("acquire 1").granted(1, 30_000);
		assertThat(lease).isCompletedWithValueMatching(Optional::isPresent);
	}

	@Test
	@DisplayName("Requests without a wait time fail by the store after the command timeout without a comparison, also"
			+ " behind a waiting request")
	void doesNotAskWithoutWaiting() {
		register();
		this.store.sent();
		LockRequest before = LockRequest.of("before").waitTime(Duration.ofSeconds(10));
		CompletableFuture<LockLease> waiting = this.service.acquireAsync(before);
		List<CompletableFuture<?>> leases = List.of(this.service.tryAcquireAsync(AT_ONCE),
				this.service.tryAcquireAsync(AT_ONCE), this.service.tryAcquireAsync(before.waitTime(Duration.ZERO)),
				this.semaphores.tryAcquireAsync(PERMIT), this.semaphores.tryAcquireAsync(PERMIT));
		this.store.elapse(settings().commandTimeout().toMillis() - 1);
		assertThat(leases).noneMatch(CompletableFuture::isDone);
		this.store.elapse(1);
		assertThat(leases).allSatisfy((lease) -> assertNotCompared(lease, "the store (Redis) did not answer"));
		assertThat(waiting).isNotDone();
		assertThat(this.store.sent()).allMatch((line) -> line.startsWith("join"));
	}

	@Test
	@DisplayName("Requests without a wait time fail by the store when the comparison fails, also behind a waiting"
			+ " request")
	void failsWithoutWaiting() {
		register();
		CompletableFuture<LockLease> waiting = this.service.acquireAsync(REQUEST);
		List<CompletableFuture<?>> leases = List.of(this.service.tryAcquireAsync(REQUEST.waitTime(Duration.ZERO)),
				this.service.tryAcquireAsync(AT_ONCE), this.semaphores.tryAcquireAsync(PERMIT));
		fail(true);
		assertThat(leases).allSatisfy((lease) -> assertNotCompared(lease, "trouble"));
		assertThat(waiting).isNotDone();
		CompletableFuture<?> later = this.service.tryAcquireAsync(REQUEST.waitTime(Duration.ZERO));
		assertNotCompared(later, "trouble");
	}

	@Test
	@DisplayName("A request without a wait time behind a waiting request is sent on its own, once the versions are"
			+ " compared")
	void triesBehindAnother() {
		register();
		this.service.acquireAsync(REQUEST);
		CompletableFuture<Optional<LockLease>> second = this.service.tryAcquireAsync(REQUEST.waitTime(Duration.ZERO));
		assertThat(second).isNotDone();
		answer();
		assertThat(this.store.sent()).endsWith("acquire 1", "acquire 2 at once");
		this.store.last("acquire 2").busy(30_000, 10);
		assertThat(second).isCompletedWithValue(Optional.empty());
	}

	@Test
	@DisplayName("Waiting requests fail by the store after the outage patience without a comparison")
	void waitsForTheOutagePatience() {
		register();
		CompletableFuture<LockLease> first = this.service.acquireAsync(REQUEST);
		CompletableFuture<LockLease> second = this.service.acquireAsync(REQUEST);
		this.store.answerAtOnce("join shop after 0", (command) -> command.fail(true));
		for (int i = 0; i < 2900; i += 100) {
			this.store.last("join").fail(true);
			this.store.elapse(100);
			assertThat(first).as("after " + i + " ms").isNotDone();
		}
		this.store.last("join").fail(true);
		this.store.elapse(500);
		this.store.last("join").fail(true);
		assertNotCompared(first, "trouble");
		assertNotCompared(second, "trouble");
		assertThat(this.store.sent()).allMatch((line) -> line.startsWith("join"));
	}

	@Test
	@DisplayName("A request that is cancelled during the comparison leaves nothing to release, and the next request is"
			+ " sent")
	void cancelledDuringTheComparison() {
		register();
		CompletableFuture<LockLease> first = this.service.acquireAsync(REQUEST);
		this.service.acquireAsync(REQUEST);
		first.cancel(false);
		answer();
		assertThat(this.store.sent()).containsExactly("join shop after 0", "acquire 1");
	}

	@Test
	@DisplayName("A new subscription during the comparison has no request sent twice")
	void listensDuringTheComparison() {
		register();
		this.service.acquireAsync(REQUEST);
		this.store.wakeUps.listening();
		answer();
		assertThat(this.store.sent()).containsExactly("join shop after 0", "acquire 1");
	}

	@Test
	@DisplayName("A limit is set once the versions are compared, and fails with the comparison")
	void limits() {
		register();
		this.store.sent();
		CompletableFuture<Boolean> first = context().limit(LIMITED, 3);
		assertThat(this.store.sent()).isEmpty();
		fail(true);
		assertThat(first).isCompletedExceptionally();
		context().limit(LIMITED, 4);
		this.store.elapse(0);
		answer();
		assertThat(this.store.sent()).containsExactly("join shop after 0", "limit 4");
	}

	@Test
	@DisplayName("The release of an incompatible instance brings in none of its waiters")
	void releasesAlone() {
		register();
		answer();
		LockLease lease = granted(REQUEST, 1);
		CompletableFuture<LockLease> next = this.service.acquireAsync(REQUEST.waitTime(Duration.ofMinutes(5)));
		this.store.answerAtOnce("renew 1 for 30000", (command) -> command.renewed(true));
		this.store.elapse(REFRESH);
		this.store.last("join").done(INCOMPATIBILITY);
		this.store.sent();
		lease.releaseAsync();
		assertThat(this.store.sent()).containsExactly("release 1");
		assertFailed(next, LeaseStoreException.class, INCOMPATIBILITY);
	}

	private static void assertNotCompared(CompletableFuture<?> lease, String why) {
		assertFailed(lease, LeaseStoreException.class, why, "; nothing is granted before it has answered once");
	}

	@Test
	@DisplayName("A request that times out before it is sent is not sent behind its release")
	void asksNotAfterItsEnd() {
		register();
		CompletableFuture<LockLease> lease = this.service.acquireAsync(REQUEST.waitTime(Duration.ofMillis(300)));
		this.store.elapse(400);
		assertNotCompared(lease, "the store (Redis) did not answer");
		answer();
		assertThat(this.store.sent()).noneMatch((line) -> line.startsWith("acquire"));
	}

}
