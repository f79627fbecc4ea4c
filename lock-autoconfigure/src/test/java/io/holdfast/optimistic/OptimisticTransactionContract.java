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
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.LeaseStoreException;
import io.holdfast.OptimisticTransactionException;
import io.holdfast.optimistic.OptimisticTransactions.Options;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.TestTransactions;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
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
import org.springframework.data.redis.core.ValueOperations;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

/**
 * Contract of optimistic transactions for each driver, under concurrent changes and
 * failures.
 */
abstract class OptimisticTransactionContract {

	static final Duration SOON = Duration.ofSeconds(20);

	private static final Options PATIENT = new Options(1000, Duration.ofMinutes(1), Duration.ofMillis(1));

	private static final Options THREE_ATTEMPTS = new Options(3, Duration.ofMinutes(1), Duration.ofMillis(1));

	final TestRedis redis;

	final ValueOperations<String, String> values;

	final String a;

	final String b;

	RedisConnectionFactory factory;

	OptimisticTransactions transactions;

	OptimisticTransactionContract(TestRedis redis) {
		this.redis = redis;
		this.values = redis.template().opsForValue();
		this.a = redis.keyPrefix() + "a";
		this.b = redis.keyPrefix() + "b";
	}

	/** Create a factory, closed at the test's end. */
	abstract RedisConnectionFactory connect(String host, int port);

	@BeforeEach
	void connect() {
		this.factory = connect(this.redis.host(), this.redis.port());
		this.transactions = new OptimisticTransactions(this.factory);
	}

	@AfterEach
	void clearInterrupt() {
		Thread.interrupted();
	}

	/** Change the key as another client. */
	void change(String key) {
		this.redis.template().opsForValue().append(key, "+");
	}

	private static int number(@Nullable String value) {
		return (value != null) ? Integer.parseInt(value) : 0;
	}

	static void increment(OptimisticTransactions transactions, String key) {
		transactions.execute(List.of(key), (tx) -> {
			int before = number(tx.read().opsForValue().get(key));
			tx.write((writer) -> writer.opsForValue().set(key, String.valueOf(before + 1)));
			return before;
		});
	}

	static Consumer<RedisOperations<String, String>> set(String key, String value) {
		return (writer) -> writer.opsForValue().set(key, value);
	}

	private static CompletableFuture<Void> onThreads(int count, Runnable task) {
		return CompletableFuture.allOf(IntStream.range(0, count)
			.mapToObj((i) -> CompletableFuture.runAsync(task, (run) -> new Thread(run).start()))
			.toArray(CompletableFuture[]::new));
	}

	@Test
	@DisplayName("S8 threads of two instances that increment one key lose no update")
	void counter() {
		OptimisticTransactions other = new OptimisticTransactions(connect(this.redis.host(), this.redis.port()));
		CompletableFuture<Void> ours = onThreads(4, () -> countTo(100, this.transactions.with(PATIENT)));
		CompletableFuture<Void> others = onThreads(4, () -> countTo(100, other.with(PATIENT)));
		assertThat(CompletableFuture.allOf(ours, others)).succeedsWithin(SOON.multipliedBy(2));
		assertThat(this.values.get(this.a)).isEqualTo("800");
	}

	private void countTo(int end, OptimisticTransactions transactions) {
		for (int i = 0; i < end; i++) {
			increment(transactions, this.a);
		}
	}

	@Test
	@DisplayName("S8 after a change by another client, the next attempt reads the new value")
	void triesAgain() {
		this.values.set(this.a, "1");
		AtomicInteger attempts = new AtomicInteger();
		String read = this.transactions.execute(List.of(this.a), (tx) -> {
			String value = tx.read().opsForValue().get(this.a);
			if (attempts.incrementAndGet() < 3) {
				change(this.a);
			}
			tx.write(set(this.b, "from " + value));
			return value;
		});
		assertThat(read).isEqualTo("1++");
		assertThat(this.values.get(this.b)).isEqualTo("from 1++");
		assertThat(attempts).hasValue(3);
	}

	@Test
	@DisplayName("S8 a hot key ends in an exception with attempts, time and keys")
	void givesUp() {
		AtomicInteger attempts = new AtomicInteger();
		Options bounds = new Options(4, Duration.ofMinutes(1), Duration.ofMillis(20));
		long start = System.nanoTime();
		assertThatExceptionOfType(OptimisticTransactionException.class)
			.isThrownBy(() -> this.transactions.with(bounds).execute(List.of(this.a, this.b), (tx) -> {
				attempts.incrementAndGet();
				change(this.b);
				tx.write(set(this.a, "lost"));
				return null;
			}))
			.satisfies((ex) -> {
				assertThat(ex.getKeys()).containsExactly(this.a, this.b);
				assertThat(ex.getAttempts()).isEqualTo(4);
				assertThat(ex.getElapsed()).isBetween(Duration.ofMillis(60),
						Duration.ofNanos(System.nanoTime() - start));
				assertThat(ex).hasNoCause()
					.hasMessage(
							"The optimistic transaction on [%s, %s] wrote nothing and was given up after 4 attempts"
									+ " in %s ms: each time others changed a watched key. Allow more attempts or time"
									+ " (holdfast.optimistic.max-attempts, holdfast.optimistic.max-time),"
									+ " or use a lock where many write to the same keys (@DistributedLock)",
							this.a, this.b, ex.getElapsed().toMillis());
			});
		assertThat(attempts).hasValue(4);
		assertThat(this.values.get(this.a)).isNull();
	}

	@Test
	@DisplayName("S8 the maximum time ends the attempts, for any maximum number")
	void givesUpInTime() {
		Options bounds = new Options(500, Duration.ofSeconds(1), Duration.ofMillis(10));
		increment(this.transactions, this.a);
		assertThatExceptionOfType(OptimisticTransactionException.class)
			.isThrownBy(() -> this.transactions.with(bounds).execute(List.of(this.a), (tx) -> {
				change(this.a);
				tx.write(set(this.b, "lost"));
				return null;
			}))
			.satisfies((ex) -> {
				assertThat(ex.getAttempts()).isBetween(2, 499);
				assertThat(ex.getElapsed()).isBetween(Duration.ofMillis(790), Duration.ofSeconds(10));
			});
		assertThat(this.values.get(this.b)).isNull();
	}

	private OptimisticTransactionException failWhile(Collection<String> keys, Runnable interference) {
		AtomicReference<OptimisticTransactionException> failure = new AtomicReference<>();
		assertThatExceptionOfType(OptimisticTransactionException.class)
			.isThrownBy(() -> this.transactions.with(THREE_ATTEMPTS).execute(keys, (tx) -> {
				interference.run();
				tx.write(set(this.redis.keyPrefix() + "x", "lost"));
				return null;
			}))
			.satisfies(failure::set);
		return failure.get();
	}

	@Test
	@DisplayName("A key that is given twice is watched once")
	void namedTwice() {
		assertThat(failWhile(Stream.of(this.a, this.a).toList(), () -> change(this.a)).getKeys())
			.containsExactly(this.a);
	}

	@Test
	@DisplayName("A transaction without writes runs once, even under changes by other clients")
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
	 * A leftover watch or queued command would fail the first attempt of the next
	 * transaction on the connection.
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
	@DisplayName("Writers that queue no command, or only commands without a result, run once")
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
	@DisplayName("An exception of the reading code reaches the caller unchanged, with nothing written or left watched")
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
	@DisplayName("An exception of a writer reaches the caller unchanged, and earlier queued commands do not run")
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
	@DisplayName("No writer can be added after the end of the attempt")
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
	@DisplayName("A failed command is an error, which says that the other commands took effect")
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
	@DisplayName("A command that Redis rejects is an error, and nothing is written")
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
	@DisplayName("F16 an interrupt between attempts ends the transaction at once, keeps the flag, and leaves nothing written or watched")
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
	@DisplayName("F16 an interrupt before the transaction prevents any attempt, and keeps the flag")
	void interruptedBefore() {
		Thread.currentThread().interrupt();
		assertThatExceptionOfType(OptimisticTransactionException.class)
			.isThrownBy(() -> this.transactions.execute(List.of(this.a), (tx) -> {
				throw new AssertionError("tried");
			}))
			.satisfies((ex) -> assertThat(ex.getAttempts()).isZero());
		assertThat(Thread.interrupted()).as("interrupt flag").isTrue();
		assertNothingLeft();
	}

	@Test
	@DisplayName("F16 an interrupt by the attempt itself keeps the attempt's exception and the flag, with nothing written or watched")
	void interruptedWithin() {
		IllegalStateException failure = new IllegalStateException("interrupted");
		assertThatIllegalStateException().isThrownBy(() -> this.transactions.execute(List.of(this.a), (tx) -> {
			tx.write(set(this.b, "lost"));
			Thread.currentThread().interrupt();
			throw failure;
		})).isSameAs(failure);
		assertThat(Thread.interrupted()).as("interrupt flag").isTrue();
		assertThat(this.values.get(this.b)).isNull();
		assertNothingLeft();
	}

	@Test
	@DisplayName("S8 a nested transaction is separate, and ends only its own watch")
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
		assertThat(this.values.get(this.b)).as("nested transactions, one per attempt").isEqualTo("2");
	}

	@Test
	@DisplayName("S8 an application's templates, also in transactions, end no watch")
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

	/** Create a factory with a pool, closed at the test's end. */
	abstract RedisConnectionFactory connect(GenericObjectPoolConfig<?> pool);

	static GenericObjectPoolConfig<?> poolOfOne() {
		GenericObjectPoolConfig<?> one = new GenericObjectPoolConfig<>();
		one.setMaxTotal(1);
		one.setMaxWait(Duration.ZERO);
		return one;
	}

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
	@DisplayName("S8 inside of the application's MULTI a transaction still reads, and writes before the MULTI ends")
	void insideOfMulti() {
		this.values.set(this.a, "1");
		inMulti(new StringRedisTemplate(this.factory), () -> {
			increment(this.transactions, this.a);
			assertThat(this.values.get(this.a)).isEqualTo("2");
		});
	}

	@Test
	@DisplayName("S8 inside of a Spring transaction a transaction writes at once, and its writes survive the rollback")
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
	@DisplayName("F10 while Redis is down a transaction fails as a store failure without writes, and works when Redis is back")
	void redisIsDown() {
		try (FaultProxy proxy = FaultProxy.to(this.redis.host(), this.redis.port())) {
			OptimisticTransactions through = new OptimisticTransactions(connect(proxy.host(), proxy.port()));
			increment(through, this.a);
			proxy.down();
			for (int i = 0; i < 2; i++) {
				assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> increment(through, this.a))
					.withMessageContaining("The optimistic transaction on [" + this.a + "] was not begun: ");
			}
			OptimisticTransactions first = new OptimisticTransactions(connect(proxy.host(), proxy.port()));
			assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> increment(first, this.a))
				.withMessageContainingAll("was not begun: ", ":" + proxy.port());
			proxy.up();
			await("the connection").atMost(SOON).ignoreExceptions().untilAsserted(() -> {
				increment(through, this.a);
				assertThat(this.values.get(this.a)).isEqualTo("2");
			});
		}
	}

	@Test
	@DisplayName("S8 F11 a broken connection ends the watch: nothing is written, although Redis is back")
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
	@DisplayName("S8 F11 a connection that breaks between the writes causes no partial write, although Redis is back")
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
			// Comes in order after any command that the broken connection might resend.
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
	@DisplayName("F5 a lost answer to EXEC leaves the result unknown, and nothing is written twice")
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

	/** Connections to a cluster that need not exist. */
	abstract RedisConnectionFactory cluster(RedisClusterConfiguration configuration);

	@Test
	@DisplayName("A cluster is refused without a connection, with the alternative")
	void refusesCluster() {
		RedisConnectionFactory nowhere = cluster(new RedisClusterConfiguration(List.of("127.0.0.1:1")));
		assertThatExceptionOfType(UnsupportedOperationException.class)
			.isThrownBy(() -> new OptimisticTransactions(nowhere).execute(List.of(this.a), (tx) -> null))
			.withMessageContainingAll("[" + this.a + "]", "does not support WATCH", "@DistributedLock");
	}

}
