package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Lock;

import io.holdfast.Lease;
import io.holdfast.LeaseLostEvent;
import io.holdfast.LeaseLostException;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.SemaphoreRequest;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.Semaphore;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestApplication;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.event.EventListener;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * The entry of a lease disappears, and its holder releases the lease before any renewal
 * would have noticed.
 */
@WithRedis
class LostAtReleaseTests {

	private static final String KEY = "lost-at-release";

	private final RedisServer server;

	private final Fleet fleet;

	private final Instance instance;

	LostAtReleaseTests(TestRedis redis) {
		this.server = redis.startServer();
		this.fleet = Fleet.on(redis, this.server);
		this.instance = this.fleet.start(Application.class);
	}

	@BeforeEach
	void warmUp() {
		this.instance.warmUp();
	}

	enum Loss {

		DEL, FLUSHALL, RESTART

	}

	private void lose(Loss loss) {
		switch (loss) {
			case DEL -> this.fleet.observer().delete(this.fleet.observer().keys("*" + KEY + "*"));
			case FLUSHALL -> this.fleet.onServer((connection) -> connection.serverCommands().flushAll());
			case RESTART -> {
				this.server.restart();
				// Connected again: a command that was cut off may have run.
				await("connection").atMost(SOON)
					.ignoreExceptions()
					.until(() -> this.instance.locks().tryAcquire("other").map(Lease::release).isPresent());
			}
		}
	}

	enum Kind {

		EXCLUSIVE, READ, PERMITS, SEVERAL, KEPT, KEPT_PERMITS;

		Lease acquire(Instance instance) {
			LockRequest lock = LockRequest.of(KEY).leaseTime(Duration.ofMinutes(1));
			SemaphoreRequest permits = SemaphoreRequest.of(KEY, 3).permits(2).leaseTime(Duration.ofMinutes(1));
			return switch (this) {
				case EXCLUSIVE -> instance.acquire(lock);
				case READ -> instance.acquire(lock.mode(LockMode.READ));
				case PERMITS -> instance.acquire(permits);
				case SEVERAL -> instance.acquire(LockRequest.ofAll(List.of(KEY, KEY + "2")));
				case KEPT -> instance.acquire(lock.minHold(Duration.ofSeconds(20)));
				case KEPT_PERMITS -> instance.acquire(permits.minHold(Duration.ofSeconds(20)));
			};
		}

	}

	@ParameterizedTest(name = "{0}: A release reveals the loss, by its result, an event and the action")
	@EnumSource(Loss.class)
	void lost(Loss loss) {
		for (Kind kind : Kind.values()) {
			events().clear();
			Lease lease = kind.acquire(this.instance);
			CountDownLatch noticed = new CountDownLatch(1);
			lease.onLost(noticed::countDown);
			lose(loss);
			assertThat(lease.isHeld()).as("not yet noticed").isTrue();
			try (LogLines lines = new LogLines()) {
				assertThat(lease.release()).as(kind.name()).isEqualTo(ReleaseResult.LOST);
				assertThat(lines.aboveDebug()).isNotEmpty()
					.allMatch((line) -> line.contains(KEY) && line.contains("was lost before it was released"));
			}
			assertThatExceptionOfType(LeaseLostException.class).isThrownBy(lease::ensureHeld)
				.withMessageContaining("was lost, because the store says");
			await("action and event").atMost(SOON).until(() -> noticed.getCount() == 0 && !events().isEmpty());
			assertThat(events()).extracting(LeaseLostEvent::reason)
				.containsOnly("the store says that it has another owner, or none");
		}
	}

	@Test
	@DisplayName("A release in time is no loss")
	void released() {
		for (Kind kind : Kind.values()) {
			assertThat(kind.acquire(this.instance).release()).isEqualTo(ReleaseResult.RELEASED);
			lose(Loss.FLUSHALL);
		}
		assertThat(events()).isEmpty();
	}

	@ParameterizedTest(name = "{0}: An unlock by a view throws, and gives up the hold all the same")
	@EnumSource(Loss.class)
	void views(Loss loss) {
		for (Lock view : List.of(this.instance.locks().asLock(KEY),
				this.instance.locks().asReadWriteLock(KEY).writeLock(),
				this.instance.locks().asReadWriteLock(KEY).readLock())) {
			view.lock();
			lose(loss);
			assertThatExceptionOfType(IllegalMonitorStateException.class).isThrownBy(view::unlock)
				.withMessageContaining("its lease was lost");
			view.lock();
			view.unlock();
		}
	}

	@ParameterizedTest(name = "{0}: An annotated method with onLoss = THROW fails, also if it returns a future")
	@EnumSource(Loss.class)
	void annotated(Loss loss) {
		Worker worker = this.instance.context().getBean(Worker.class);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> worker.work(() -> lose(loss)))
			.withMessageContaining("was lost while");
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> worker.workWithPermit(() -> lose(loss)))
			.withMessageContaining("was lost while");
		assertThat(worker.workLater(() -> lose(loss))).failsWithin(SOON)
			.withThrowableThat()
			.withCauseInstanceOf(LeaseLostException.class);
	}

	private List<LeaseLostEvent> events() {
		return this.instance.context().getBean(Application.class).events;
	}

	@Configuration(proxyBeanMethods = false)
	@Import(Worker.class)
	static class Application extends TestApplication {

		private final List<LeaseLostEvent> events = new CopyOnWriteArrayList<>();

		@EventListener
		void lost(LeaseLostEvent event) {
			this.events.add(event);
		}

	}

	static class Worker {

		@DistributedLock(name = KEY, onLoss = OnLoss.THROW)
		void work(Runnable work) {
			work.run();
		}

		@Semaphore(name = KEY, limit = 3, onLoss = OnLoss.THROW)
		void workWithPermit(Runnable work) {
			work.run();
		}

		@DistributedLock(name = KEY, onLoss = OnLoss.THROW)
		CompletableFuture<String> workLater(Runnable work) {
			work.run();
			return CompletableFuture.completedFuture("done");
		}

	}

}
