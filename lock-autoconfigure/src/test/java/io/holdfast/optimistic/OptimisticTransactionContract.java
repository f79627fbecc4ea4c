package io.holdfast.optimistic;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.OptimisticTransactionException;
import io.holdfast.optimistic.OptimisticTransactions.Options;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.TestTransactions;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.RedisOperations;
import org.springframework.data.redis.core.SessionCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

/**
 * What optimistic transactions promise, whatever the driver.
 */
abstract class OptimisticTransactionContract extends OptimisticConflictContract {

	OptimisticTransactionContract(TestRedis redis) {
		super(redis);
	}

	@Test
	@DisplayName("Without writes it reads once, and changes by others do not matter")
	void readsOnly() {
		this.values.set(this.a, "1");
		AtomicInteger attempts = new AtomicInteger();
		assertThat(this.transactions.<@Nullable String>execute(List.of(this.a), (tx) -> {
			attempts.incrementAndGet();
			change(this.a);
			return tx.read().opsForValue().get(this.a);
		})).isEqualTo("1+");
		assertThat(attempts).hasValue(1);
		assertNothingLeft();
	}

	/**
	 * What an ended transaction still watched or had queued would keep the next one on
	 * its connection from being run at the first attempt.
	 */
	private void assertNothingLeft() {
		change(this.a);
		AtomicInteger attempts = new AtomicInteger();
		String next = this.redis.keyPrefix() + "next";
		this.transactions.execute(List.of(next), (tx) -> {
			tx.write(set(next, String.valueOf(attempts.incrementAndGet())));
			return null;
		});
		assertThat(this.values.getAndDelete(next)).isEqualTo("1");
	}

	@Test
	@DisplayName("Writers that queue nothing, or only commands without a result, are run once")
	void queuesWhatHasNoResult() {
		AtomicInteger attempts = new AtomicInteger();
		this.transactions.execute(List.of(this.a), (tx) -> {
			tx.write((writer) -> List.<String>of().forEach((value) -> writer.opsForSet().add(this.a, value)));
			return attempts.incrementAndGet();
		});
		this.transactions.execute(List.of(this.a), (tx) -> {
			tx.write((writer) -> writer.opsForHash().putAll(this.a, Map.of("field", "value")));
			return attempts.incrementAndGet();
		});
		assertThat(attempts).hasValue(2);
		assertThat(this.redis.template().opsForHash().entries(this.a)).isEqualTo(Map.of("field", "value"));
	}

	@Test
	@DisplayName("What reading throws comes out as it is, and nothing is written or left watched")
	void readingThrows() {
		this.redis.template().opsForList().leftPush(this.a, "element");
		assertThatExceptionOfType(DataAccessException.class)
			.isThrownBy(() -> this.transactions.execute(List.of(this.a), (tx) -> {
				tx.write(set(this.b, "lost"));
				return tx.read().opsForValue().get(this.a);
			}))
			.havingRootCause()
			.withMessageContaining("WRONGTYPE");
		assertThat(this.values.get(this.b)).isNull();
		this.redis.template().delete(this.a);
		assertNothingLeft();
	}

	@Test
	@DisplayName("What a writer throws comes out as it is, and what was queued before is not run")
	void writerThrows() {
		IllegalStateException failure = new IllegalStateException("cannot write");
		assertThatIllegalStateException().isThrownBy(() -> this.transactions.execute(List.of(this.a), (tx) -> {
			tx.write(set(this.b, "lost"));
			tx.write((writer) -> {
				throw failure;
			});
			return null;
		})).isSameAs(failure);
		assertThat(this.values.get(this.b)).isNull();
		assertNothingLeft();
	}

	@Test
	@DisplayName("Nothing can be noted when the attempt is over")
	void notesNothingLater() {
		AtomicReference<OptimisticTransaction> attempt = new AtomicReference<>();
		this.transactions.execute(List.of(this.a), (tx) -> {
			attempt.set(tx);
			return null;
		});
		assertThatIllegalStateException().isThrownBy(() -> attempt.get().write(set(this.b, "lost")))
			.withMessageContaining("over");
	}

	@Test
	@DisplayName("A command that fails while it is run is told, and that the others stand")
	void runsWrongCommand() {
		this.values.set(this.a, "text");
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(() -> this.transactions.execute(List.of(this.a), (tx) -> {
				tx.write(set(this.b, "stands"));
				tx.write((writer) -> writer.opsForList().leftPush(this.a, "element"));
				return null;
			}))
			.withMessage("The optimistic transaction on [" + this.a
					+ "] was run, except for a command that failed; Redis"
					+ " does not roll the others back: WRONGTYPE Operation against a key holding the wrong kind of value")
			.satisfies((ex) -> assertThat(ex.getKey()).isEqualTo(this.a));
		assertThat(this.values.get(this.b)).isEqualTo("stands");
		assertNothingLeft();
	}

	@Test
	@DisplayName("A command that Redis does not accept is told, and nothing is written")
	void queuesUnknownCommand() {
		assertThatExceptionOfType(LeaseStoreException.class)
			.isThrownBy(() -> this.transactions.execute(List.of(this.a), (tx) -> {
				tx.write(set(this.b, "lost"));
				tx.write((writer) -> writer
					.execute((RedisCallback<Object>) (connection) -> connection.execute("NONSENSE")));
				return null;
			}))
			.withMessageContaining("was not run, and nothing written, as Redis refused one of its commands: EXECABORT");
		assertThat(this.values.get(this.b)).isNull();
		assertNothingLeft();
	}

	@Test
	@DisplayName("F16 interrupted between attempts: over at once, the flag is kept, nothing is written or left watched")
	void interrupted() {
		Options bounds = new Options(100, Duration.ofHours(1), Duration.ofMinutes(10));
		AtomicInteger attempts = new AtomicInteger();
		CompletableFuture<Throwable> failure = new CompletableFuture<>();
		CompletableFuture<Boolean> flag = new CompletableFuture<>();
		Thread thread = new Thread(() -> {
			try {
				this.transactions.with(bounds).execute(List.of(this.a, this.b), (tx) -> {
					attempts.incrementAndGet();
					change(this.a);
					tx.write(set(this.b, "lost"));
					return null;
				});
			}
			catch (RuntimeException ex) {
				failure.complete(ex);
				flag.complete(Thread.currentThread().isInterrupted());
			}
		});
		thread.start();
		await("a pause").atMost(SOON)
			.until(() -> attempts.get() == 1 && thread.getState() == Thread.State.TIMED_WAITING
					&& Arrays.stream(thread.getStackTrace())
						.anyMatch((frame) -> frame.getMethodName().equals("sleep")));
		thread.interrupt();
		assertThat(failure).succeedsWithin(SOON).isInstanceOfSatisfying(OptimisticTransactionException.class, (ex) -> {
			assertThat(ex.getAttempts()).isEqualTo(1);
			assertThat(ex).hasCauseInstanceOf(InterruptedException.class)
				.hasMessageContaining("wrote nothing and was interrupted after 1 attempt in ");
		});
		assertThat(flag).succeedsWithin(SOON).isEqualTo(true);
		assertThat(this.values.get(this.b)).isNull();
		assertNothingLeft();
	}

	@Test
	@DisplayName("F16 interrupted before: not even tried, and the flag is kept")
	void interruptedBefore() {
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(OptimisticTransactionException.class)
			.isThrownBy(() -> this.transactions.execute(List.of(this.a), (tx) -> {
				throw new AssertionError("tried");
			}))
			.satisfies((ex) -> assertThat(ex.getAttempts()).isZero());
		assertThat(Thread.interrupted()).as("flag").isTrue();
		assertNothingLeft();
	}

	@Test
	@DisplayName("F16 interrupted by the attempt itself: its exception, the flag kept, nothing written or left watched")
	void interruptedWithin() {
		IllegalStateException failure = new IllegalStateException("interrupted");
		assertThatIllegalStateException().isThrownBy(() -> this.transactions.execute(List.of(this.a), (tx) -> {
			tx.write(set(this.b, "lost"));
			Thread.currentThread().interrupt();
			throw failure;
		})).isSameAs(failure);
		assertThat(Thread.interrupted()).as("flag").isTrue();
		assertThat(this.values.get(this.b)).isNull();
		assertNothingLeft();
	}

	@Test
	@DisplayName("S8 a transaction inside of another is one of its own, and ends no watching but its own")
	void nested() {
		AtomicInteger attempts = new AtomicInteger();
		this.transactions.execute(List.of(this.a), (tx) -> {
			String before = tx.read().opsForValue().get(this.a);
			increment(this.transactions, this.b);
			if (attempts.incrementAndGet() == 1) {
				change(this.a);
			}
			tx.write(set(this.a, "after " + before));
			return null;
		});
		assertThat(this.values.get(this.a)).isEqualTo("after +");
		assertThat(this.values.get(this.b)).as("one per attempt").isEqualTo("2");
	}

	@Test
	@DisplayName("S8 what an application's templates do in between, in transactions too, ends no watching")
	void applicationsTemplate() {
		StringRedisTemplate template = new StringRedisTemplate(this.factory);
		AtomicInteger attempts = new AtomicInteger();
		this.transactions.execute(List.of(this.a), (tx) -> {
			String before = tx.read().opsForValue().get(this.a);
			inMulti(template, () -> {
			});
			if (attempts.incrementAndGet() == 1) {
				change(this.a);
			}
			tx.write(set(this.a, "after " + before));
			return null;
		});
		assertThat(this.values.get(this.a)).isEqualTo("after +");
	}

	private List<Object> inMulti(StringRedisTemplate template, Runnable action) {
		return template.execute(new SessionCallback<>() {

			@Override
			public <K, V> List<Object> execute(RedisOperations<K, V> operations) {
				operations.multi();
				action.run();
				return operations.exec();
			}

		});
	}

	/** Connections of a pool, closed at the test's end. */
	abstract RedisConnectionFactory connect(GenericObjectPoolConfig<?> pool);

	static GenericObjectPoolConfig<?> poolOfOne() {
		GenericObjectPoolConfig<?> one = new GenericObjectPoolConfig<>();
		one.setMaxTotal(1);
		one.setMaxWait(Duration.ZERO);
		return one;
	}

	/** Ways in which a transaction ends. */
	enum End {

		WITHOUT_WRITES, WRITTEN, FAILED_ATTEMPT, FAILED_WRITER, FAILED_COMMAND, REFUSED_COMMAND, CONFLICT

	}

	private void lead(End end, OptimisticTransaction tx) {
		switch (end) {
			case WITHOUT_WRITES -> {
			}
			case WRITTEN -> tx.write(set(this.b, "written"));
			case FAILED_ATTEMPT -> throw new IllegalStateException("in vain");
			case FAILED_WRITER -> tx.write((writer) -> {
				throw new IllegalStateException("in vain");
			});
			case FAILED_COMMAND -> tx.write((writer) -> writer.opsForList().leftPush(this.a, "element"));
			case REFUSED_COMMAND ->
				tx.write((writer) -> writer.execute((RedisCallback<Object>) (client) -> client.execute("NONSENSE")));
			case CONFLICT -> {
				change(this.a);
				tx.write(set(this.b, "lost"));
			}
		}
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("S8 after each end, an application's pool of one connection is free, and its connection clean")
	void cleanPool(End end) {
		RedisConnectionFactory pool = connect(poolOfOne());
		OptimisticTransactions through = new OptimisticTransactions(pool, new Options(1, SOON, Duration.ofMillis(1)));
		this.values.set(this.a, "text");
		Throwable failure = catchThrowable(() -> through.execute(List.of(this.a), (tx) -> {
			tx.read().opsForValue().get(this.a);
			lead(end, tx);
			return null;
		}));
		assertThat(failure == null).isEqualTo(end == End.WITHOUT_WRITES || end == End.WRITTEN);
		change(this.a);
		StringRedisTemplate template = new StringRedisTemplate(pool);
		assertThat(inMulti(template, () -> template.opsForValue().set(this.b, "next"))).containsExactly(true);
		assertThat(this.values.get(this.b)).isEqualTo("next");
	}

	@Test
	@DisplayName("S8 inside of a MULTI of the application's it still reads, and is written before that")
	void insideOfMulti() {
		this.values.set(this.a, "1");
		inMulti(new StringRedisTemplate(this.factory), () -> {
			increment(this.transactions, this.a);
			assertThat(this.values.get(this.a)).isEqualTo("2");
		});
	}

	@Test
	@DisplayName("S8 inside of a transaction of Spring's it is written at once, and stays when that is rolled back")
	void insideOfSpringsTransaction() {
		StringRedisTemplate template = new StringRedisTemplate(this.factory);
		template.setEnableTransactionSupport(true);
		new TransactionTemplate(new TestTransactions()).executeWithoutResult((status) -> {
			template.opsForValue().set(this.b, "rolled back");
			increment(this.transactions, this.a);
			assertThat(this.values.get(this.a)).isEqualTo("1");
			status.setRollbackOnly();
		});
		assertThat(this.values.get(this.a)).isEqualTo("1");
		assertThat(this.values.get(this.b)).isNull();
	}

	@Test
	@DisplayName("F10 Redis is down: the store's trouble, nothing was written, and it works when Redis is back")
	void redisIsDown() {
		try (FaultProxy proxy = FaultProxy.to(this.redis.host(), this.redis.port())) {
			OptimisticTransactions through = new OptimisticTransactions(connect(proxy.host(), proxy.port()));
			increment(through, this.a);
			proxy.down();
			for (int i = 0; i < 2; i++) {
				assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> increment(through, this.a))
					.withMessageContaining("The optimistic transaction on [" + this.a + "] was not begun: ");
			}
			proxy.up();
			await("the connection").atMost(SOON).ignoreExceptions().untilAsserted(() -> {
				increment(through, this.a);
				assertThat(this.values.get(this.a)).isEqualTo("2");
			});
		}
	}

	@Test
	@DisplayName("S8 F11 the connection breaks, and with it the watching: nothing is written, although Redis is back")
	void connectionBreaksAfterReading() {
		this.values.set(this.a, "1");
		try (FaultProxy proxy = FaultProxy.to(this.redis.host(), this.redis.port())) {
			OptimisticTransactions through = new OptimisticTransactions(connect(proxy.host(), proxy.port()));
			assertThatExceptionOfType(LeaseStoreException.class)
				.isThrownBy(() -> through.execute(List.of(this.a), (tx) -> {
					String value = tx.read().opsForValue().get(this.a);
					reconnect(proxy);
					change(this.a);
					tx.write(set(this.a, "after " + value));
					return null;
				}))
				.withMessageContaining("The optimistic transaction on [" + this.a + "] was ");
			assertThat(this.values.get(this.a)).isEqualTo("1+");
		}
	}

	@Test
	@DisplayName("S8 F11 the connection breaks between the writes: none is written by itself, although Redis is back")
	void connectionBreaksBetweenWrites() {
		try (FaultProxy proxy = FaultProxy.to(this.redis.host(), this.redis.port())) {
			OptimisticTransactions through = new OptimisticTransactions(connect(proxy.host(), proxy.port()));
			assertThatExceptionOfType(RuntimeException.class)
				.isThrownBy(() -> through.execute(List.of(this.a), (tx) -> {
					tx.write(set(this.a, "lost"));
					tx.write((writer) -> reconnect(proxy));
					tx.write(set(this.b, "lost"));
					return null;
				}));
			// In its order behind what the broken connection might have sent again.
			await().atMost(SOON).ignoreExceptions().until(() -> through.execute(List.of(this.a), (tx) -> true));
			assertThat(this.values.get(this.a)).isNull();
			assertThat(this.values.get(this.b)).isNull();
		}
	}

	private static void reconnect(FaultProxy proxy) {
		proxy.down();
		proxy.up();
	}

	@Test
	@DisplayName("F5 the answer to EXEC is lost: it is not known what was written, and nothing is written twice")
	void answerIsLost() {
		try (FaultProxy proxy = FaultProxy.to(this.redis.host(), this.redis.port())) {
			OptimisticTransactions through = new OptimisticTransactions(connect(proxy.host(), proxy.port()));
			increment(through, this.a);
			proxy.swallowRepliesThenFin("EXEC");
			assertThatExceptionOfType(LeaseStoreException.class)
				.isThrownBy(() -> through.execute(List.of(this.a), (tx) -> {
					tx.write((writer) -> writer.opsForValue().increment(this.a));
					return null;
				}))
				.withMessageContaining("did not answer: it is not known whether it was run");
			assertThat(proxy.cuts()).isEqualTo(1);
			assertThat(this.values.get(this.a)).isEqualTo("2");
		}
	}

	static Stream<Collection<@Nullable String>> badKeys() {
		return Stream.of(List.of(), new ArrayList<>(Arrays.asList("a", null)), List.of("a", ""));
	}

	@ParameterizedTest
	@MethodSource("badKeys")
	@DisplayName("No key, and keys that are null or empty, are refused")
	void refusesBadKeys(Collection<String> keys) {
		assertThatIllegalArgumentException().isThrownBy(() -> this.transactions.execute(keys, (tx) -> null))
			.withMessageContaining(keys.toString())
			.withMessageContaining("name all keys that its writes depend on");
	}

	/** Connections to a cluster that need not be there. */
	abstract RedisConnectionFactory cluster(RedisClusterConfiguration configuration);

	@Test
	@DisplayName("A cluster is refused with what to do instead, and without being asked")
	void refusesCluster() {
		RedisConnectionFactory nowhere = cluster(new RedisClusterConfiguration(List.of("127.0.0.1:1")));
		assertThatExceptionOfType(UnsupportedOperationException.class)
			.isThrownBy(() -> new OptimisticTransactions(nowhere).execute(List.of(this.a), (tx) -> null))
			.withMessageContainingAll("[" + this.a + "]", "does not support WATCH", "@DistributedLock");
	}

}
