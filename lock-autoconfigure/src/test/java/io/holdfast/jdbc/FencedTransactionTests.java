package io.holdfast.jdbc;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

import io.holdfast.LeaseContext;
import io.holdfast.LeaseLostException;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.jdbc.FencedShop.Kind;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Kinds of transactions under a fenced lease, of a late holder and of a current holder.
 */
@SuppressWarnings("try")
@WithRedis
class FencedTransactionTests {

	private static final String STOCK = "stock";

	/** Applications for all tests. */
	private static final Map<Kind, FencedShop> SHOPS = new EnumMap<>(Kind.class);

	@BeforeAll
	static void open(TestRedis redis) {
		for (Kind kind : Kind.values()) {
			SHOPS.put(kind, FencedShop.open(redis, kind));
		}
	}

	@AfterEach
	void forgetTokens() {
		SHOPS.values().forEach((shop) -> shop.jdbc.update("DELETE FROM holdfast_fence"));
	}

	@FunctionalInterface
	private interface Way {

		void run(FencedShop shop, Runnable body);

	}

	private static void inTemplate(FencedShop shop, Runnable body) {
		new TransactionTemplate(shop.transactions).executeWithoutResult((status) -> body.run());
	}

	private static List<Way> ways() {
		return List.of(FencedTransactionTests::inTemplate, (shop, body) -> shop.works.required(body),
				(shop, body) -> shop.works.withoutRollback(body),
				(shop, body) -> shop.works.supports(() -> shop.works.required(body)),
				(shop, body) -> shop.works.readOnly(() -> shop.works.requiresNew(body)),
				(shop, body) -> shop.works.notSupported(() -> inTemplate(shop, body)),
				(shop, body) -> shop.works.nested(body));
	}

	/**
	 * Run code under the leases of this thread, within a transaction that began without
	 * leases.
	 */
	private static void inOuter(FencedShop shop, Runnable code) {
		LeaseContext leases = LeaseContext.current();
		FencedShop.within(LeaseContext.empty(), () -> shop.works.required(() -> {
			shop.write("outer");
			assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> FencedShop.within(leases, code));
		}));
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A late holder's transaction of any kind does not begin, and leaves no trace")
	void late(Kind kind) {
		FencedShop shop = SHOPS.get(kind);
		for (Way way : ways()) {
			List<String> ran = new ArrayList<>();
			AtomicReference<Long> token = new AtomicReference<>();
			assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> shop.sales.locked(() -> {
				token.set(LockLease.current().fencingToken());
				shop.overtake(STOCK);
				try {
					way.run(shop, () -> ran.add("body"));
				}
				finally {
					shop.checkNothingLeft();
				}
				return null;
			}))
				.withMessageContaining(
						"The transaction under lock 'stock' (fencing token " + token.get() + ") was refused")
				.withMessageContaining("(fencing token " + (token.get() + 64) + ")")
				.withMessageContaining("Fences.reset(\"stock\")");
			assertThat(ran).isEmpty();
			assertThat(shop.written()).isEmpty();
			shop.checkNothingLeft();
			assertThat(shop.jdbc.update("DELETE FROM holdfast_fence")).isOne();
		}
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("The holder's transactions commit, and each raises the token in the table before its first statement")
	void inTime(Kind kind) throws Exception {
		FencedShop shop = SHOPS.get(kind);
		for (Way way : ways()) {
			long token = shop.sales.locked(() -> {
				way.run(shop, () -> shop.write("sale"));
				shop.checkNothingLeft();
				return LockLease.current().fencingToken();
			});
			assertThat(shop.token(STOCK)).isEqualTo(token);
			assertThat(shop.written()).containsExactly("sale");
			shop.checkNothingLeft();
		}
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("After a refusal, the outer transaction can commit")
	void refusedInOuterThatCommits(Kind kind) {
		FencedShop shop = SHOPS.get(kind);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> shop.sales.locked(() -> {
			shop.overtake(STOCK);
			inOuter(shop, () -> shop.works.requiresNew(() -> shop.write("inner")));
			return null;
		}));
		assertThat(shop.written()).containsExactly("outer");
		shop.checkNothingLeft();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("After a refusal, the outer transaction can roll back")
	void refusedInOuterThatRollsBack(Kind kind) {
		FencedShop shop = SHOPS.get(kind);
		assertThatIllegalStateException().isThrownBy(() -> shop.sales.locked(() -> {
			shop.overtake(STOCK);
			LeaseContext leases = LeaseContext.current();
			FencedShop.within(LeaseContext.empty(), () -> shop.works.required(() -> {
				shop.write("outer");
				try {
					FencedShop.within(leases, () -> shop.works.requiresNew(() -> shop.write("inner")));
				}
				catch (LeaseLostException ex) {
					throw new IllegalStateException("roll back", ex);
				}
			}));
			return null;
		}));
		assertThat(shop.written()).isEmpty();
		shop.checkNothingLeft();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A fenced method with its own transaction is refused by the transaction: its body does not run")
	void ownTransaction(Kind kind) {
		FencedShop shop = SHOPS.get(kind);
		shop.sales.sell(() -> shop.write("sale"));
		assertThat(shop.written()).containsExactly("sale");
		shop.overtake(STOCK, Long.MAX_VALUE);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> shop.sales.sell(() -> shop.write("late")))
			.withMessageStartingWith("The transaction under lock");
		assertThat(shop.written()).isEmpty();
		shop.checkNothingLeft();
		shop.context.getBean(Fences.class).reset(STOCK);
		shop.sales.sell(() -> shop.write("sale"));
		assertThat(shop.written()).containsExactly("sale");
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("REQUIRES_NEW within a checked transaction of the same lease does not wait for the transaction")
	void requiresNew(Kind kind) {
		FencedShop shop = SHOPS.get(kind);
		shop.sales.sell(() -> {
			shop.write("outer");
			shop.works.requiresNew(() -> shop.write("inner"));
			shop.works.notSupported(() -> shop.works.required(() -> shop.write("third")));
		});
		assertThat(shop.written()).containsExactly("inner", "outer", "third");
		shop.checkNothingLeft();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A lock within a writing transaction is checked there, before the code; so is REQUIRES_NEW under the lock")
	void lockInTransaction(Kind kind) {
		FencedShop shop = SHOPS.get(kind);
		shop.works.required(() -> {
			shop.write("before");
			lockedBy(shop, () -> {
				shop.write("sale");
				shop.works.requiresNew(() -> shop.write("inner"));
			});
		});
		assertThat(shop.written()).containsExactly("before", "inner", "sale");
		shop.overtake(STOCK, Long.MAX_VALUE);
		shop.works.required(() -> {
			shop.write("before");
			assertThatExceptionOfType(LeaseLostException.class)
				.isThrownBy(() -> lockedBy(shop, () -> shop.write("late")));
		});
		assertThat(shop.written()).containsExactly("before");
		shop.checkNothingLeft();
	}

	private static void lockedBy(FencedShop shop, Runnable body) {
		shop.locks().withLock(LockRequest.of(STOCK).fenced(), body::run);
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("Reads without a writing transaction are fenced: the token is raised before the code")
	void raisedBefore(Kind kind) throws Exception {
		FencedShop shop = SHOPS.get(kind);
		long first = shop.sales.locked(() -> {
			assertThat(shop.token(STOCK)).isEqualTo(LockLease.current().fencingToken());
			return LockLease.current().fencingToken();
		});
		shop.sales.look(
				() -> assertThat(shop.token(STOCK)).isEqualTo(LockLease.current().fencingToken()).isGreaterThan(first));
		shop.works.readOnly(() -> lockedBy(shop,
				() -> assertThat(shop.token(STOCK)).isEqualTo(LockLease.current().fencingToken())));
		shop.overtake(STOCK, Long.MAX_VALUE);
		List<String> ran = new ArrayList<>();
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> shop.sales.locked(() -> ran.add("body")))
			.withMessageStartingWith("The lock 'stock' (fencing token ");
		assertThat(ran).isEmpty();
		shop.checkNothingLeft();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("A late holder may still read")
	void readOnly(Kind kind) throws Exception {
		FencedShop shop = SHOPS.get(kind);
		shop.sales.locked(() -> {
			shop.overtake(STOCK);
			List<String> ran = new ArrayList<>();
			shop.works.readOnly(() -> ran.add("read"));
			assertThat(ran).containsExactly("read");
			return null;
		});
		shop.checkNothingLeft();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("Transactions that begin after a commit or rollback, in its callbacks, are checked anew")
	void afterCompletion(Kind kind) {
		for (boolean commit : new boolean[] { true, false }) {
			FencedShop shop = SHOPS.get(kind);
			assertThatExceptionOfType(LeaseLostException.class).isThrownBy(
					() -> shop.sales.locked(() -> new TransactionTemplate(shop.transactions).execute((status) -> {
						shop.write("sale");
						if (!commit) {
							status.setRollbackOnly();
						}
						TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
							@Override
							public void afterCompletion(int completion) {
								shop.overtake(STOCK);
								shop.works.requiresNew(() -> shop.write("late"));
							}
						});
						return null;
					})));
			assertThat(shop.written()).isEqualTo(commit ? List.of("sale") : List.of());
			shop.checkNothingLeft();
			forgetTokens();
		}
	}

	@Test
	@DisplayName("A refused check ends the call with the exception even if the code catches it, in services too")
	void swallowed() {
		FencedShop shop = SHOPS.get(Kind.JDBC);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> shop.sales.locked(() -> {
			shop.overtake(STOCK);
			assertThatExceptionOfType(LeaseLostException.class)
				.isThrownBy(() -> shop.works.required(() -> shop.write("late")));
			assertThat(LockLease.current().isHeld()).isFalse();
			return "result";
		})).withMessageContaining("was refused by the database");
		shop.jdbc.update("DELETE FROM holdfast_fence");
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> lockedBy(shop, () -> {
			shop.overtake(STOCK);
			assertThatExceptionOfType(LeaseLostException.class)
				.isThrownBy(() -> shop.works.required(() -> shop.write("late")));
		})).withMessageContaining("was refused by the database");
		assertThat(shop.written()).isEmpty();
		assertThat(shop.locks().status(STOCK).isLocked()).isFalse();
	}

	@Test
	@DisplayName("A late holder writes its audit row in an empty context")
	void audit() {
		FencedShop shop = SHOPS.get(Kind.JDBC);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> shop.sales.locked(() -> {
			shop.overtake(STOCK);
			try {
				shop.works.required(() -> shop.write("late"));
			}
			catch (LeaseLostException ex) {
				FencedShop.within(LeaseContext.empty(), () -> shop.works.required(() -> shop.write("audit")));
				throw ex;
			}
			return null;
		}));
		assertThat(shop.written()).containsExactly("audit");
		shop.checkNothingLeft();
	}

	@Test
	@DisplayName("After a known loss, no statement is sent")
	void lossIsKnown(TestRedis redis) {
		FencedShop shop = FencedShop.open(redis, Kind.JDBC);
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> shop.sales.locked(() -> {
			shop.locks().admin().forceRelease(STOCK);
			shop.jdbc.execute("DROP TABLE holdfast_fence");
			shop.works.required(() -> shop.write("late"));
			return null;
		})).withMessageContaining("is not held any more");
		shop.checkNothingLeft();
	}

	@Test
	@DisplayName("Several keys are checked together; a refusal names its key")
	void severalKeys() {
		FencedShop shop = SHOPS.get(Kind.JDBC);
		LockRequest request = LockRequest.ofAll(List.of("a", "b")).fenced();
		shop.locks().withLock(request, () -> shop.works.required(() -> shop.write("sale")));
		assertThat(shop.written()).containsExactly("sale");
		assertThat(shop.token("a")).isNotNull();
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> shop.locks().withLock(request, () -> {
			shop.overtake("b", Long.MAX_VALUE);
			shop.works.required(() -> shop.write("late"));
		})).withMessageContaining("'b'").satisfies((ex) -> assertThat(ex.getKey()).isEqualTo("b"));
		shop.checkNothingLeft();
	}

}
