package io.holdfast.redis.driver;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.concurrent.ExecutionException;

import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.script.Script;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import io.lettuce.core.AbstractRedisAsyncCommands;
import io.lettuce.core.api.StatefulConnection;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Calls while the connection is lost.
 */
@WithRedis
class ScriptExecutorTests {

	private static final Duration SOON = Duration.ofSeconds(10);

	private final RedisServer server;

	private final ScriptExecutor executor;

	ScriptExecutorTests(TestRedis redis) {
		this.server = redis.startServer();
		this.executor = new ScriptExecutor(redis.connectionFactory(this.server.host(), this.server.port()), () -> {
		}, new DaemonThreads());
		redis.closeAtEnd(() -> this.executor.close(() -> {
		}));
	}

	private CompletableFuture<Integer> write() {
		return write(this.executor);
	}

	private static CompletableFuture<Integer> write(ScriptExecutor executor) {
		return executor.execute(Script.WRITE, new byte[][] { RedisKeys.bytes("none") }, new Object[0], "a write",
				(reply) -> 0);
	}

	@BeforeEach
	void loseConnection() {
		assertThat(write()).succeedsWithin(SOON);
		this.server.kill();
		await("lost").atMost(SOON).until(() -> this.executor.unreachedNanos() > 0);
	}

	@Test
	@DisplayName("In an outage, calls that were given up take no memory, and the remaining calls are sent afterwards")
	void givenUp() {
		List<WeakReference<CompletableFuture<Integer>>> givenUp = new ArrayList<>();
		List<CompletableFuture<Integer>> kept = new ArrayList<>();
		for (int i = 0; i < 20_000; i++) {
			CompletableFuture<Integer> call = write();
			if (i % 1000 == 0) {
				kept.add(call);
			}
			else {
				call.cancel(true);
				givenUp.add(new WeakReference<>(call));
			}
		}
		await("no calls in memory").atMost(SOON).until(() -> {
			System.gc();
			return givenUp.stream().filter((call) -> call.get() != null).count() < 3000;
		});
		this.server.restart();
		assertThat(kept).allSatisfy((call) -> assertThat(call).succeedsWithin(SOON));
		assertThat(this.executor.unreachedNanos()).isZero();
		assertThat(write()).succeedsWithin(SOON);
	}

	@Test
	@DisplayName("A call that was given up in an outage is never written, the remaining calls go to the next"
			+ " connection")
	void written() {
		ScriptCall<?> givenUp = (ScriptCall<?>) write();
		ScriptCall<?> kept = (ScriptCall<?>) write();
		assertThat(kept.isWritten()).isFalse();
		givenUp.cancel(true);
		assertThat(givenUp.isWritten()).isFalse();
		this.server.restart();
		assertThat(kept).succeedsWithin(SOON);
		assertThat(kept.isWritten()).isTrue();
	}

	@Test
	@DisplayName("Calls fail with an error that is thrown while connecting, and later calls connect again")
	void errorWhileConnecting(TestRedis redis) {
		this.server.restart();
		AtomicBoolean broken = new AtomicBoolean(true);
		ScriptExecutor repaired = executor(redis, (factory) -> {
			if (broken.get()) {
				throw new NoClassDefFoundError("io/lettuce/Missing");
			}
			return factory.get();
		});
		assertThat(write(repaired)).failsWithin(SOON)
			.withThrowableThat()
			.havingCause()
			.isInstanceOf(StoreCommandException.class)
			.withMessageEndingWith("java.lang.NoClassDefFoundError: io/lettuce/Missing");
		broken.set(false);
		assertThat(write(repaired)).succeedsWithin(SOON);
	}

	@Test
	@DisplayName("A connection that is lost before its first use counts as lost, and calls wait for the next"
			+ " connection")
	void lostBeforeItsUse(TestRedis redis) {
		this.server.restart();
		ScriptExecutor late = executor(redis, (factory) -> {
			RedisConnection opened = factory.get();
			StatefulConnection<?, ?> connection = ((AbstractRedisAsyncCommands<?, ?>) opened.getNativeConnection())
				.getConnection();
			this.server.kill();
			await("its loss").atMost(SOON).until(() -> !connection.isOpen());
			return opened;
		});
		CompletableFuture<Integer> first = write(late);
		await("the loss").atMost(SOON).until(() -> late.unreachedNanos() > 0);
		ScriptCall<?> second = (ScriptCall<?>) write(late);
		this.server.restart();
		assertThat(List.of(first, second)).allSatisfy((call) -> assertThat(call).succeedsWithin(SOON));
		assertThat(late.unreachedNanos()).isZero();
	}

	/** Return an executor whose connections are opened in another way. */
	private ScriptExecutor executor(TestRedis redis, Function<Supplier<RedisConnection>, RedisConnection> opening) {
		LettuceConnectionFactory factory = new LettuceConnectionFactory(
				new RedisStandaloneConfiguration(this.server.host(), this.server.port()),
				TestRedis.clientConfiguration()) {

			@Override
			public RedisConnection getConnection() {
				return opening.apply(super::getConnection);
			}

		};
		factory.afterPropertiesSet();
		factory.start();
		redis.closeAtEnd(factory::destroy);
		ScriptExecutor other = new ScriptExecutor(factory, () -> {
		}, new DaemonThreads());
		redis.closeAtEnd(() -> other.close(() -> {
		}));
		return other;
	}

	@Test
	@DisplayName("Failed reconnects do not restart the time of an outage")
	void failedReconnects() throws IOException {
		long before = this.executor.unreachedNanos();
		long start = System.nanoTime();
		try (ServerSocket closing = new ServerSocket(this.server.port(), 50,
				InetAddress.getByName(this.server.host()))) {
			closing.setSoTimeout((int) SOON.toMillis());
			for (int i = 0; i < 3; i++) {
				closing.accept().close();
			}
		}
		long elapsed = System.nanoTime() - start;
		assertThat(this.executor.unreachedNanos()).isGreaterThanOrEqualTo(before + elapsed);
	}

	@Test
	@DisplayName("Calls that wait for the connection fail when the context stops, and when the executor closes")
	void closed() {
		CompletableFuture<Integer> call = write();
		this.executor.failUnsent();
		assertThat(call).failsWithin(Duration.ZERO).withThrowableOfType(ExecutionException.class);
		CompletableFuture<Integer> later = write();
		this.executor.close(() -> {
		});
		assertThat(later).failsWithin(SOON).withThrowableOfType(ExecutionException.class);
	}

}
