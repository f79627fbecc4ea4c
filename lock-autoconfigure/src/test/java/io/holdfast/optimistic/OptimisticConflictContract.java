package io.holdfast.optimistic;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.OptimisticTransactionException;
import io.holdfast.optimistic.OptimisticTransactions.Options;
import io.holdfast.testing.TestRedis;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.RedisOperations;
import org.springframework.data.redis.core.ValueOperations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Contract of optimistic transactions under concurrent changes, for each driver. See
 * {@link OptimisticTransactionContract}.
 */
abstract class OptimisticConflictContract {

	static final Duration SOON = Duration.ofSeconds(20);

	private static final Options PATIENT = new Options(1000, Duration.ofMinutes(1), Duration.ofMillis(1));

	private static final Options THREE_ATTEMPTS = new Options(3, Duration.ofMinutes(1), Duration.ofMillis(1));

	final TestRedis redis;

	final ValueOperations<String, String> values;

	final String a;

	final String b;

	RedisConnectionFactory factory;

	OptimisticTransactions transactions;

	OptimisticConflictContract(TestRedis redis) {
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
		return CompletableFuture.allOf(IntStream.range(0, count).mapToObj((i) -> {
			CompletableFuture<Void> end = new CompletableFuture<>();
			Thread thread = new Thread(() -> {
				try {
					task.run();
					end.complete(null);
				}
				catch (Throwable ex) {
					end.completeExceptionally(ex);
				}
			}, "counter");
			thread.setDaemon(true);
			thread.start();
			return end;
		}).toArray(CompletableFuture[]::new));
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
	@DisplayName("S8 amounts moved between keys neither vanish nor double")
	void transfer() {
		List<String> accounts = List.of(this.a, this.b, this.redis.keyPrefix() + "c");
		accounts.forEach((account) -> this.values.set(account, "10"));
		assertThat(onThreads(6, () -> {
			for (int i = 0; i < 60; i++) {
				int from = ThreadLocalRandom.current().nextInt(3);
				move(accounts.get(from), accounts.get((from + 1 + ThreadLocalRandom.current().nextInt(2)) % 3));
			}
		})).succeedsWithin(SOON.multipliedBy(2));
		List<Integer> balances = accounts.stream().map((account) -> number(this.values.get(account))).toList();
		assertThat(balances).allMatch((balance) -> balance >= 0);
		assertThat(balances.stream().mapToInt(Integer::intValue).sum()).isEqualTo(30);
	}

	private void move(String from, String to) {
		this.transactions.with(PATIENT).execute(List.of(from, to), (tx) -> {
			int source = number(tx.read().opsForValue().get(from));
			int target = number(tx.read().opsForValue().get(to));
			if (source > 0) {
				tx.write(set(from, String.valueOf(source - 1)));
				tx.write(set(to, String.valueOf(target + 1)));
			}
			return source;
		});
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
	@DisplayName("S8 the creation and the deletion of a key count as changes")
	void comesAndGoes() {
		AtomicInteger attempts = new AtomicInteger();
		Boolean existed = this.transactions.execute(List.of(this.a), (tx) -> {
			Boolean exists = tx.read().hasKey(this.a);
			switch (attempts.incrementAndGet()) {
				case 1 -> change(this.a);
				case 2 -> this.redis.template().delete(this.a);
			}
			tx.write(set(this.b, "written"));
			return exists;
		});
		assertThat(existed).isFalse();
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
	@DisplayName("S8 writing the same value, and changing the expiry, count as changes")
	void sameValue() {
		this.values.set(this.a, "same");
		List<String> keys = List.of(this.a, this.b);
		assertThat(failWhile(keys, () -> {
			change(this.a);
			this.values.set(this.a, "same");
		}).getAttempts()).isEqualTo(3);
		AtomicInteger seconds = new AtomicInteger(100);
		assertThat(failWhile(keys,
				() -> this.redis.template().expire(this.a, Duration.ofSeconds(seconds.incrementAndGet())))
			.getAttempts()).isEqualTo(3);
	}

	@Test
	@DisplayName("A key that is given twice is watched once")
	void namedTwice() {
		assertThat(failWhile(Stream.of(this.a, this.a).toList(), () -> change(this.a)).getKeys())
			.containsExactly(this.a);
	}

}
