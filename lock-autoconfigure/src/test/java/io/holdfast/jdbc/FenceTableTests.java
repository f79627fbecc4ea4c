package io.holdfast.jdbc;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.testing.ChildProcess;
import io.holdfast.testing.TestDatabase;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.dao.CannotAcquireLockException;
import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.annotation.Isolation;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * Concurrent checks of transactions, on each database and isolation level.
 */
class FenceTableTests {

	private final ExecutorService threads = Executors.newFixedThreadPool(8);

	static Stream<Arguments> databasesAndLevels() {
		return Stream.of(TestDatabase.values())
			.flatMap(
					(database) -> Stream.of(Isolation.READ_COMMITTED, Isolation.REPEATABLE_READ, Isolation.SERIALIZABLE)
						.map((level) -> Arguments.of(database, level)));
	}

	@AutoClose
	private FenceDatabase database;

	private FenceDatabase open(TestDatabase kind, String... parameters) {
		this.database = FenceDatabase.open(kind, parameters);
		return this.database;
	}

	@AfterEach
	void endThreads() {
		this.threads.shutdownNow();
	}

	@ParameterizedTest
	@MethodSource("databasesAndLevels")
	void anEarlierTokenIsRefused(TestDatabase kind, Isolation level) throws Exception {
		FenceDatabase database = open(kind);
		FencedTransaction transaction = database.begin(level);
		transaction.check(database.table(), 7, "b", "a").commit();
		// The same token, as in two transactions of a lease.
		transaction.check(database.table(), 7, "a").commit();
		assertThatExceptionOfType(LateFenceException.class)
			.isThrownBy(() -> transaction.check(database.table(), 6, "a", "c"))
			.satisfies((late) -> assertThat(late.row.name()).isEqualTo("a"))
			.satisfies((late) -> assertThat(late.row.token()).isEqualTo(6))
			.satisfies((late) -> assertThat(late.laterToken).isEqualTo(7));
		transaction.rollback();
		assertThat(database.token("a")).isEqualTo(7);
		assertThat(database.token("c")).isNull();
	}

	@ParameterizedTest
	@MethodSource("databasesAndLevels")
	void aLaterHolderWaitsAndSeesWhatTheEarlierOneWrote(TestDatabase kind, Isolation level) throws Exception {
		FenceDatabase database = open(kind);
		FencedTransaction earlier = database.begin(level);
		earlier.check(database.table(), 1, "a");
		Future<Integer> later = this.threads.submit(() -> sell(database, level, 2));
		database.awaitWaiting();
		assertThat(sell(earlier.jdbc())).isEqualTo(99);
		earlier.commit();
		assertThat(result(later)).isEqualTo(98);
		assertThat(database.token("a")).isEqualTo(2);
	}

	@ParameterizedTest
	@MethodSource("databasesAndLevels")
	void anEarlierHolderWaitsAndIsRefused(TestDatabase kind, Isolation level) throws Exception {
		FenceDatabase database = open(kind);
		FencedTransaction later = database.begin(level);
		later.check(database.table(), 2, "a");
		Future<Integer> earlier = this.threads.submit(() -> sell(database, level, 1));
		database.awaitWaiting();
		assertThat(sell(later.jdbc())).isEqualTo(99);
		later.commit();
		assertThatExceptionOfType(LateFenceException.class).isThrownBy(() -> result(earlier))
			.satisfies((late) -> assertThat(late.laterToken).isEqualTo(2));
		assertThat(database.jdbc().queryForObject("SELECT items FROM stock", Integer.class)).isEqualTo(99);
	}

	@ParameterizedTest
	@MethodSource("databasesAndLevels")
	void transactionsOfDifferentNewKeysDoNotFail(TestDatabase kind, Isolation level) throws Exception {
		FenceDatabase database = open(kind);
		FenceTable table = database.table();
		each(400, (i) -> {
			try (FencedTransaction transaction = database.begin(level)) {
				transaction.check(table, 1, "key " + i * 7919 % 400).commit();
			}
		});
		assertThat(rows(database)).isEqualTo(400);
	}

	@ParameterizedTest
	@MethodSource("databasesAndLevels")
	void transactionsOfDifferentKnownKeysDoNotFail(TestDatabase kind, Isolation level) throws Exception {
		FenceDatabase database = open(kind);
		FenceTable table = database.table();
		each(400, (i) -> {
			try (FencedTransaction transaction = database.begin(level)) {
				transaction.check(table, i, Thread.currentThread().getName()).commit();
			}
		});
		// A thread may have had no turn.
		assertThat(rows(database)).isBetween(1, 8);
	}

	@ParameterizedTest
	@MethodSource("databasesAndLevels")
	void ofManyTokensAtOnceEachPassesOrIsRefused(TestDatabase kind, Isolation level) throws Exception {
		FenceDatabase database = open(kind);
		FenceTable table = database.table();
		AtomicInteger passed = new AtomicInteger();
		each(120, (i) -> {
			try (FencedTransaction transaction = database.begin(level)) {
				transaction.check(table, 1 + i % 4, "key " + i / 4).commit();
				passed.incrementAndGet();
			}
			catch (LateFenceException ex) {
				assertThat(ex.laterToken).isGreaterThan(ex.row.token());
			}
		});
		assertThat(passed.get()).isGreaterThanOrEqualTo(30);
		IntStream.range(0, 30).forEach((key) -> assertThat(database.token("key " + key)).isEqualTo(4));
	}

	@ParameterizedTest
	@EnumSource
	void keysOfACheckAreTakenInOneOrder(TestDatabase kind) throws Exception {
		FenceDatabase database = open(kind);
		FenceTable table = database.table();
		try (FencedTransaction first = database.begin()) {
			first.check(table, 1, "a", "b", "c").commit();
		}
		String[][] orders = { { "a", "b", "c" }, { "c", "b", "a" } };
		each(200, (i) -> {
			try (FencedTransaction transaction = database.begin()) {
				// A deadlock would fail the test, as no transaction is repeated.
				transaction.checkLater(table, 1, orders[i % 2]).commit();
			}
		});
	}

	@ParameterizedTest
	@EnumSource
	void ofTwoTransactionsWithKeysInOppositeOrderOnePasses(TestDatabase kind) throws Exception {
		FenceDatabase database = open(kind);
		FencedTransaction one = database.begin();
		FencedTransaction other = database.begin();
		FenceTable table = database.table();
		one.check(table, 1, "a", "b").commit();
		one.check(table, 1, "a");
		other.check(table, 1, "b");
		Future<Boolean> first = this.threads.submit(() -> passesLater(table, one, "b"));
		database.awaitWaiting();
		assertThat(List.of(passesLater(table, other, "a"), result(first))).contains(true);
	}

	@ParameterizedTest
	@EnumSource
	void theWaitForAFrozenHolderEnds(TestDatabase kind) throws Exception {
		FenceDatabase database = open(kind);
		FencedTransaction frozen = database.begin();
		FencedTransaction next = database.begin();
		frozen.check(database.table(), 1, "a");
		assertThatExceptionOfType(QueryTimeoutException.class)
			.isThrownBy(() -> next.check(database.table(Duration.ofSeconds(1)), 2, "a"));
		next.rollback();
		frozen.commit();
		assertThat(sell(database, Isolation.READ_COMMITTED, 2)).isEqualTo(99);
	}

	@ParameterizedTest
	@EnumSource
	void theWaitIsNotLongerThanTheTransactionMayBe(TestDatabase kind) throws Exception {
		FenceDatabase database = open(kind);
		FencedTransaction frozen = database.begin();
		frozen.check(database.table(), 1, "a");
		TransactionTemplate transactions = new TransactionTemplate(new JdbcTransactionManager(database.dataSource()));
		transactions.setTimeout(1);
		assertThatExceptionOfType(QueryTimeoutException.class)
			.isThrownBy(() -> transactions.executeWithoutResult((status) -> database.table()
				.raise(DataSourceUtils.getConnection(database.dataSource()), List.of(FenceRow.of("a", 2)), true)));
	}

	@ParameterizedTest
	@EnumSource
	void aCheckLeavesNoTimeoutBehind(TestDatabase kind) throws Exception {
		FenceDatabase database = open(kind);
		FencedTransaction transaction = database.begin();
		transaction.check(database.table(), 1, "a");
		assertThat(transaction.queryTimeout()).isZero();
		database.table().reset("b");
		transaction.rollback();
		// The reset takes effect in the transaction that holds the row, not before.
		assertThat(database.token("a")).isNull();
	}

	@ParameterizedTest
	@EnumSource
	void keysThatDifferALittleHaveRowsOfTheirOwn(TestDatabase kind) throws Exception {
		List<String> keys = List.of("a:X", "a:x", "a:e", "a:é", "a:ß", "a:ss", "a:x ", "a:x  ", "a:\0", "a:\u00a0",
				"a:😀", "a:😁", "x".repeat(255), "x".repeat(256), "x".repeat(257));
		FenceDatabase database = open(kind);
		FencedTransaction transaction = database.begin();
		for (int i = 0; i < keys.size(); i++) {
			// A lower token each time, which would be refused at the row of another
			// key.
			transaction.check(database.table(), 100 - i, keys.get(i)).commit();
		}
		assertThat(rows(database)).isEqualTo(keys.size());
	}

	@ParameterizedTest
	@EnumSource
	void aResetLetsAnyTokenPass(TestDatabase kind) throws Exception {
		FenceDatabase database = open(kind);
		FencedTransaction transaction = database.begin();
		transaction.check(database.table(), 9, "a", "b").commit();
		database.table().reset("a");
		transaction.check(database.table(), 1, "a").commit();
		assertThat(database.token("a")).isEqualTo(1);
		assertThat(database.token("b")).isEqualTo(9);
	}

	@ParameterizedTest
	@EnumSource
	void cleaningUpDoesNotWaitForChecksOfRowsThatStay(TestDatabase kind) throws Exception {
		FenceDatabase database = open(kind);
		FencedTransaction old = database.begin();
		FencedTransaction open = database.begin();
		String[] keys = IntStream.range(0, 250).mapToObj((i) -> "key " + i).toArray(String[]::new);
		old.check(database.table(), 1, keys).commit();
		old.check(database.table(), 20, "b").commit();
		open.check(database.table(), 21, "b");
		open.checkLater(database.table(), 21, "new");
		assertThat(database.table(Duration.ofSeconds(5)).deleteBelow(20)).isEqualTo(250);
		open.commit();
		assertThat(database.token("b")).isEqualTo(21);
		assertThat(database.token("new")).isEqualTo(21);
		assertThat(rows(database)).isEqualTo(2);
	}

	@ParameterizedTest
	@EnumSource
	void cleaningUpLeavesARowThatIsRaisedBesideIt(TestDatabase kind) throws Exception {
		FenceDatabase database = open(kind);
		FencedTransaction open = database.begin();
		open.check(database.table(), 1, "a", "b").commit();
		open.check(database.table(), 30, "a");
		Future<Integer> cleanUp = this.threads.submit(() -> database.table().deleteBelow(20));
		database.awaitWaiting();
		open.commit();
		assertThat(result(cleanUp)).isEqualTo(1);
		assertThat(database.token("a")).isEqualTo(30);
	}

	@ParameterizedTest
	@EnumSource
	void checksBesideCleaningUpDoNotFail(TestDatabase kind) throws Exception {
		FenceDatabase database = open(kind);
		FenceTable table = database.table();
		each(200, (i) -> {
			if (i % 8 == 0) {
				cleanUp(table, i);
				return;
			}
			try (FencedTransaction transaction = database.begin()) {
				transaction.check(table, i, "key " + i % 5, "key of " + Thread.currentThread().getName()).commit();
			}
			catch (LateFenceException ex) {
				assertThat(ex.laterToken).isGreaterThan(i);
			}
		});
	}

	/**
	 * Clean up as a single instance does, which tries again if it is a deadlock's victim.
	 */
	private static synchronized void cleanUp(FenceTable table, long token) {
		try {
			table.deleteBelow(token);
		}
		catch (CannotAcquireLockException ex) {
			// No check has failed.
		}
	}

	/** MariaDB loses a sale, so such transactions are refused. */
	@ParameterizedTest
	@EnumSource
	void aSnapshotFromBeforeTheLockIsNoticedExceptInMariaDb(TestDatabase kind) throws Exception {
		FenceDatabase database = open(kind);
		FencedTransaction reader = database.begin(Isolation.REPEATABLE_READ);
		FenceTable table = database.table();
		sell(database, Isolation.READ_COMMITTED, 1);
		assertThat(reader.jdbc().queryForObject("SELECT items FROM stock", Integer.class)).isEqualTo(99);
		sell(database, Isolation.READ_COMMITTED, 2);
		ThrowingCallable sale = () -> {
			reader.checkLater(table, 3, "a");
			sell(reader.jdbc());
		};
		if (kind == TestDatabase.MARIADB) {
			assertThatNoException().isThrownBy(sale);
			reader.commit();
			assertThat(database.jdbc().queryForObject("SELECT items FROM stock", Integer.class)).isEqualTo(98);
		}
		else {
			assertThatExceptionOfType(ConcurrencyFailureException.class).isThrownBy(sale);
		}
	}

	@ParameterizedTest
	@EnumSource(value = Isolation.class, names = { "REPEATABLE_READ", "SERIALIZABLE" })
	void aChangedRecordIsTriedAgainInMariaDb(Isolation level) throws Exception {
		FenceDatabase database = open(TestDatabase.MARIADB, "sessionVariables=innodb_snapshot_isolation=ON");
		FencedTransaction earlier = database.begin(level);
		earlier.check(database.table(), 1, "a").commit();
		earlier.check(database.table(), 2, "a");
		Future<Integer> later = this.threads.submit(() -> sell(database, level, 3));
		database.awaitWaiting();
		sell(earlier.jdbc());
		earlier.commit();
		assertThat(result(later)).isEqualTo(98);
	}

	@Test
	void theSameTokenPassesWhereMariaDbCountsChangedRowsOnly() throws Exception {
		FenceDatabase database = open(TestDatabase.MARIADB, "useAffectedRows=true");
		FencedTransaction transaction = database.begin();
		transaction.check(database.table(), 5, "a").commit();
		transaction.check(database.table(), 5, "a");
		// The row is locked, too.
		assertThatExceptionOfType(QueryTimeoutException.class).isThrownBy(() -> {
			try (FencedTransaction later = database.begin()) {
				later.check(database.table(Duration.ofSeconds(1)), 6, "a");
			}
		});
	}

	private static int rows(FenceDatabase database) {
		return database.jdbc().queryForObject("SELECT COUNT(*) FROM holdfast_fence", Integer.class);
	}

	/** Read the stock under lock 'a' and write the stock minus one, in a transaction. */
	private static int sell(FenceDatabase database, Isolation level, long token) throws Exception {
		try (FencedTransaction transaction = database.begin(level)) {
			int items = sell(transaction.check(database.table(), token, "a").jdbc());
			transaction.commit();
			return items;
		}
	}

	private static int sell(JdbcTemplate jdbc) {
		int items = jdbc.queryForObject("SELECT items FROM stock", Integer.class) - 1;
		jdbc.update("UPDATE stock SET items = ?", items);
		return items;
	}

	private static boolean passesLater(FenceTable table, FencedTransaction transaction, String key) throws Exception {
		try (transaction) {
			transaction.checkLater(table, 1, key).commit();
			return true;
		}
		catch (ConcurrencyFailureException ex) {
			return false;
		}
	}

	/** Run an action this many times, on eight threads. */
	private void each(int times, Action action) throws Exception {
		AtomicInteger next = new AtomicInteger();
		List<Future<?>> results = new ArrayList<>();
		for (int thread = 0; thread < 8; thread++) {
			Callable<Void> task = () -> {
				for (int i = next.getAndIncrement(); i < times; i = next.getAndIncrement()) {
					action.run(i);
				}
				return null;
			};
			results.add(this.threads.submit(task));
		}
		for (Future<?> result : results) {
			result(result);
		}
	}

	private static <T> T result(Future<T> future) throws Exception {
		try {
			return future.get(ChildProcess.PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
		}
		catch (ExecutionException ex) {
			throw (Exception) ex.getCause();
		}
	}

	private interface Action {

		void run(int i) throws Exception;

	}

}
