package io.holdfast.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.testing.ChildJvm;
import io.holdfast.testing.ChildProcess;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestDatabase;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.jdbc.core.JdbcTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Process that is frozen by SIGSTOP under its lock, and continues after the end of its
 * lease and a sale of another holder.
 */
@Slow
class FrozenSellerTests {

	@ParameterizedTest
	@EnumSource(names = { "POSTGRESQL", "MARIADB" })
	@DisplayName("Without the fence, a frozen holder loses the sale of the next holder")
	void withoutFence(TestDatabase kind) {
		try (Scene scene = new Scene(kind, "lock", FenceChaosTests.Sale.READ_BEFORE)) {
			scene.frozen.freeze();
			scene.next().readAndSell("stock0");
			assertThat(scene.goOn()).isEqualTo("ended: sold");
			assertThat(scene.sales()).isEqualTo(2);
			assertThat(scene.items()).isEqualTo(99);
		}
	}

	@ParameterizedTest
	@EnumSource(names = { "POSTGRESQL", "MARIADB" })
	@DisplayName("With the fence, a frozen holder is refused, and the next holder's sale stays")
	void frozenUnderTheLock(TestDatabase kind) {
		try (Scene scene = new Scene(kind, "lock", FenceChaosTests.Sale.FENCED_READ_BEFORE)) {
			scene.frozen.freeze();
			scene.next().readAndSellFenced("stock0");
			assertThat(scene.goOn()).isEqualTo("ended: LeaseLostException");
			assertThat(scene.sales()).isEqualTo(1);
			assertThat(scene.items()).isEqualTo(99);
		}
	}

	@ParameterizedTest
	@EnumSource(names = { "POSTGRESQL", "MARIADB" })
	@DisplayName("A holder that is frozen in its transaction blocks the next holder, and commits")
	void frozenInTheTransaction(TestDatabase kind) {
		try (Scene scene = new Scene(kind, "transaction", FenceChaosTests.Sale.FENCED_WITHIN)) {
			scene.frozen.freeze();
			StockSeller next = scene.next();
			assertThatExceptionOfType(QueryTimeoutException.class).isThrownBy(() -> next.sellFenced("stock0"));
			assertThat(scene.goOn()).isEqualTo("ended: sold");
			assertThat(scene.sales()).isEqualTo(1);
			assertThat(scene.items()).isEqualTo(99);
			next.sellFenced("stock0");
			assertThat(scene.items()).isEqualTo(98);
		}
	}

	/** Process that pauses in a place, and an instance in this JVM. */
	private static final class Scene implements AutoCloseable {

		private final HikariDataSource pool;

		private final RedisServer redis;

		private final ConfigurableApplicationContext next;

		private final ChildJvm frozen;

		Scene(TestDatabase kind, String place, FenceChaosTests.Sale sale) {
			this.pool = kind.open();
			StockSeller.create(jdbc(), 1, 100);
			this.redis = RedisServer.start();
			// The first instance creates the table.
			this.next = StockSeller.start(this.pool, this.redis.host(), this.redis.port(), "READ_COMMITTED",
					"stock.lease=1s", "holdfast.fence.jdbc.initialize-schema=always", "holdfast.fence.jdbc.timeout=2s");
			this.frozen = ChildJvm.start(FrozenSellerMain.class, this.pool.getJdbcUrl(), this.pool.getUsername(),
					this.pool.getPassword(), Integer.toString(this.redis.port()), place, sale.name());
			this.frozen.awaitLine("standing", ChildProcess.PATIENCE);
		}

		StockSeller next() {
			return this.next.getBean(StockSeller.class);
		}

		/** Continue the frozen process, and return the result of its sale. */
		String goOn() {
			this.frozen.send("go on");
			this.frozen.thaw();
			return this.frozen.awaitLine("ended", ChildProcess.PATIENCE);
		}

		int sales() {
			return StockSeller.sales(jdbc());
		}

		int items() {
			return StockSeller.items(jdbc());
		}

		private JdbcTemplate jdbc() {
			return new JdbcTemplate(this.pool);
		}

		@Override
		public void close() {
			this.frozen.close();
			this.next.close();
			this.redis.close();
			this.pool.close();
		}

	}

}
