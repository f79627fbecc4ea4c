package io.holdfast.faults;

import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Predicate;

import io.holdfast.HoldfastException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockMode;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.Semaphore;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestApplication;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

import org.springframework.context.annotation.Import;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * An instance releases a key without waiting, and at once requests the key or its state
 * without waiting. The answer never names another owner, also if Redis gets the release
 * later or not at all.
 */
class ReleaseOrderTests extends ProxiedTestCase {

	private static final String NAME = "release-order";

	private final Map<Face, String> outcomes = new EnumMap<>(Face.class);

	@Test
	@DisplayName("Redis has forgotten the script of the release, and knows that of the request")
	void scriptFlush() {
		Instance instance = this.fleet.start(this.proxy, Application.class);
		Instance other = this.fleet.start(Application.class);
		releaseAndRepeat(instance, Face.values(), (face) -> {
			this.fleet.onServer((connection) -> connection.scriptingCommands().scriptFlush());
			assertThat(face.askAgain.test(other)).as("another instance loads its script").isFalse();
		});
	}

	@Test
	@DisplayName("The reply to the release is lost, and the driver repeats the release")
	void lostReply() {
		releaseAndRepeat(this.fleet.start(this.proxy, Application.class), Face.values(),
				(face) -> this.proxy.swallowRepliesThenFin(NAME));
		assertThat(this.proxy.cuts()).as("replies lost").isEqualTo(Face.values().length);
	}

	@Test
	@DisplayName("The connection is reset under the release")
	void reset() {
		releaseAndRepeat(this.fleet.start(this.proxy, Application.class), Face.values(),
				(face) -> this.proxy.swallowRepliesThenReset(NAME));
		assertThat(this.proxy.cuts()).as("replies lost").isEqualTo(Face.values().length);
	}

	@Slow
	@Test
	@DisplayName("Redis is out of reach")
	void down() {
		releaseAndRepeat(this.fleet.start(this.proxy, Application.class),
				new Face[] { Face.EXCLUSIVE, Face.PERMITS, Face.SKIP }, (face) -> this.proxy.down());
		assertThat(this.outcomes).allSatisfy((face, outcome) -> assertThat(outcome).startsWith("trouble"));
	}

	private void releaseAndRepeat(Instance instance, Face[] faces, Consumer<Face> beforeRelease) {
		for (Face face : faces) {
			await("connection").atMost(SOON).ignoreExceptions().until(() -> {
				face.use.accept(instance, () -> {
				});
				return true;
			});
			face.use.accept(instance, () -> beforeRelease.accept(face));
			this.outcomes.put(face, askAgain(instance, face));
			this.proxy.up();
			this.fleet.awaitNothingLeft();
		}
		assertThat(this.outcomes).allSatisfy((face, outcome) -> assertThat(outcome).isNotEqualTo("refused"));
	}

	private static String askAgain(Instance instance, Face face) {
		try {
			return face.askAgain.test(instance) ? "granted" : "refused";
		}
		catch (LeaseStoreException ex) {
			return "trouble: " + ex.getMessage();
		}
	}

	/** Ways to release and to repeat the request, both without waiting. */
	enum Face {

		EXCLUSIVE((instance, body) -> instance.locks().withLock(NAME, body::run),
				(instance) -> instance.locks().tryWithLock(NAME, () -> {
				})),

		ACQUIRED(EXCLUSIVE.use, (instance) -> {
			try {
				instance.acquire(LockRequest.of(NAME).waitTime(Duration.ZERO)).close();
				return true;
			}
			catch (LockNotAcquiredException ex) {
				return false;
			}
		}),

		ASYNC((instance, body) -> instance.locks().withLockAsync(LockRequest.of(NAME), () -> {
			body.run();
			return CompletableFuture.completedFuture(true);
		}).join(),
				(instance) -> joinAnswer(instance.locks()
					.tryWithLockAsync(LockRequest.of(NAME), () -> CompletableFuture.completedFuture(true)))
					.isAcquired()),

		REACTIVE((instance, body) -> reactive(instance).withLock(NAME, Mono.fromRunnable(body)).block(), (instance) -> {
			var lease = reactive(instance).tryAcquire(NAME).block();
			if (lease != null) {
				lease.close();
			}
			return lease != null;
		}),

		VIEW(EXCLUSIVE.use, (instance) -> {
			var lock = instance.locks().asLock(NAME);
			boolean locked = lock.tryLock();
			if (locked) {
				lock.unlock();
			}
			return locked;
		}),

		READING_AFTER_EXCLUSIVE(EXCLUSIVE.use, (instance) -> instance.locks()
			.tryWithLock(LockRequest.of(NAME).mode(LockMode.READ).waitTime(Duration.ZERO), () -> {
			})),

		WRITING_AFTER_READING(
				(instance, body) -> instance.locks().withLock(LockRequest.of(NAME).mode(LockMode.READ), body::run),
				(instance) -> {
					var lock = instance.locks().asReadWriteLock(NAME).writeLock();
					boolean locked = lock.tryLock();
					if (locked) {
						lock.unlock();
					}
					return locked;
				}),

		SEVERAL((instance, body) -> instance.locks().withLock(several(), body::run),
				(instance) -> instance.locks().tryWithLock(several().waitTime(Duration.ZERO), () -> {
				})),

		PERMITS((instance, body) -> instance.semaphores().withPermits(SemaphoreRequest.of(NAME, 1), body::run),
				(instance) -> instance.semaphores().tryWithPermits(SemaphoreRequest.of(NAME, 1), () -> {
				})),

		STATUS(EXCLUSIVE.use, (instance) -> !instance.locks().status(NAME).isLocked()),

		STATUS_OF_PERMITS(PERMITS.use, (instance) -> instance.semaphores().status(NAME).used() == 0),

		SKIP((instance, body) -> shop(instance).skip(body), (instance) -> shop(instance).skip(() -> {
		}) != null),

		SKIP_PERMITS((instance, body) -> shop(instance).skipPermits(body),
				(instance) -> shop(instance).skipPermits(() -> {
				}) != null),

		FALLBACK((instance, body) -> shop(instance).fallBack(body), (instance) -> shop(instance).fallBack(() -> {
		})),

		SKIP_STAGE((instance, body) -> shop(instance).skipStage(body).join(),
				(instance) -> joinAnswer(shop(instance).skipStage(() -> {
				})) != null),

		SKIP_MONO((instance, body) -> shop(instance).skipMono(body).block(),
				(instance) -> shop(instance).skipMono(() -> {
				}).block() != null);

		private final BiConsumer<Instance, Runnable> use;

		private final Predicate<Instance> askAgain;

		Face(BiConsumer<Instance, Runnable> use, Predicate<Instance> askAgain) {
			this.use = use;
			this.askAgain = askAgain;
		}

		private static LockRequest several() {
			return LockRequest.ofAll(List.of(NAME, NAME + "2"));
		}

		private static ReactiveLockService reactive(Instance instance) {
			return instance.context().getBean(ReactiveLockService.class);
		}

		private static Shop shop(Instance instance) {
			return instance.context().getBean(Shop.class);
		}

		private static <T extends @Nullable Object> T joinAnswer(CompletableFuture<T> answer) {
			try {
				return answer.join();
			}
			catch (CompletionException ex) {
				if (ex.getCause() instanceof HoldfastException failure) {
					throw failure;
				}
				throw ex;
			}
		}

	}

	static class Shop {

		@DistributedLock(name = NAME, waitTime = "0", onTimeout = OnTimeout.SKIP)
		@Nullable Boolean skip(Runnable body) {
			body.run();
			return true;
		}

		@Semaphore(name = NAME, limit = 1, onTimeout = OnTimeout.SKIP)
		@Nullable Boolean skipPermits(Runnable body) {
			body.run();
			return true;
		}

		@DistributedLock(name = NAME, waitTime = "0", fallback = "busy")
		boolean fallBack(Runnable body) {
			body.run();
			return true;
		}

		boolean busy(Runnable body) {
			return false;
		}

		@DistributedLock(name = NAME, waitTime = "0", onTimeout = OnTimeout.SKIP)
		CompletableFuture<@Nullable Boolean> skipStage(Runnable body) {
			body.run();
			return CompletableFuture.completedFuture(true);
		}

		@DistributedLock(name = NAME, waitTime = "0", onTimeout = OnTimeout.SKIP)
		Mono<Boolean> skipMono(Runnable body) {
			return Mono.fromCallable(() -> {
				body.run();
				return true;
			});
		}

	}

	@Import({ TestApplication.class, Shop.class })
	static class Application {

	}

}
