package io.holdfast.engine;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.fleet.FleetReport;
import io.holdfast.engine.store.InstanceStore;
import io.holdfast.engine.store.InstanceStore.Asked;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Simultaneous queries for the reports of all instances.
 */
class SharedQueryTests {

	private static final int CALLERS = 20;

	private static final Asked NONE = new Asked(List.of(), List.of("1a2b3c4d"));

	private final LeaseStore store = new MemoryLeaseStore(new MemoryLeases(System::nanoTime));

	private final AtomicInteger queries = new AtomicInteger();

	private volatile CompletableFuture<Asked> answer = new CompletableFuture<>();

	@AutoClose
	private final LeaseEngine engine = new LeaseEngine(
			instead(LeaseStore.class, this.store, "instances",
					() -> instead(InstanceStore.class, this.store.instances(), "ask", this::ask)),
			EngineSettings.defaults());

	private CompletableFuture<Asked> ask() {
		this.queries.incrementAndGet();
		return this.answer;
	}

	private static <T> T instead(Class<T> type, T target, String method, Supplier<?> result) {
		return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type }, (proxy, called,
				values) -> called.getName().equals(method) ? result.get() : called.invoke(target, values)));
	}

	/** Start callers, and wait until all of them wait for the answer. */
	private List<Thread> start(List<FleetReport> answers) {
		List<Thread> callers = new ArrayList<>();
		for (int i = 0; i < CALLERS; i++) {
			Thread caller = new Thread(() -> answers.add(Fleet.of(this.engine).reports(null)));
			caller.setUncaughtExceptionHandler((thread, error) -> {
			});
			caller.start();
			callers.add(caller);
		}
		await("all wait").until(() -> this.queries.get() > 0
				&& callers.stream().allMatch((caller) -> caller.getState() == Thread.State.TIMED_WAITING));
		return callers;
	}

	@Test
	@DisplayName("Queries during a pending query share its reports, and later queries ask anew")
	void share() throws InterruptedException {
		List<FleetReport> answers = new CopyOnWriteArrayList<>();
		List<Thread> callers = start(answers);
		this.answer.complete(NONE);
		for (Thread caller : callers) {
			caller.join();
		}
		assertThat(this.queries).hasValue(1);
		assertThat(answers).hasSize(CALLERS).allSatisfy((reports) -> assertThat(reports).isSameAs(answers.get(0)));
		assertThat(Fleet.of(this.engine).reports(null)).isNotSameAs(answers.get(0));
		assertThat(this.queries).hasValue(2);
	}

	@Test
	@DisplayName("A query for a key is not shared, as truncated reports differ")
	void shareOfKey() throws InterruptedException {
		List<FleetReport> answers = new CopyOnWriteArrayList<>();
		List<Thread> callers = start(answers);
		CompletableFuture<Asked> first = this.answer;
		this.answer = CompletableFuture.completedFuture(NONE);
		assertThat(Fleet.of(this.engine).reports("order:7").silent()).containsExactly("1a2b3c4d");
		assertThat(this.queries).hasValue(2);
		assertThat(answers).isEmpty();
		first.complete(NONE);
		for (Thread caller : callers) {
			caller.join();
		}
	}

	@Test
	@DisplayName("A failed query fails for all its callers, and for no later caller")
	void shareFailure() throws InterruptedException {
		List<FleetReport> answers = new CopyOnWriteArrayList<>();
		List<Thread> callers = start(answers);
		CompletableFuture<Asked> failing = this.answer;
		this.answer = CompletableFuture.completedFuture(NONE);
		failing.completeExceptionally(new StoreCommandException("broken", true, null));
		for (Thread caller : callers) {
			caller.join();
		}
		assertThat(answers).isEmpty();
		assertThat(Fleet.of(this.engine).reports(null).silent()).containsExactly("1a2b3c4d");
		assertThat(this.queries).hasValue(2);
	}

}
