package io.holdfast.jdbc;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.LeaseLostException;
import io.holdfast.testing.ChildProcess;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestDatabase;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.jdbc.core.JdbcTemplate;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Two instances sell from three stocks while leases of 100 ms end during sales, and Redis
 * loses all data and is killed. Without the fence, sales are lost; with the fence, none
 * is. {@code -Dholdfast.test.fence-time} sets the duration of each run, {@code PT10S} by
 * default. The figures go to {@code target/chaos/fence.txt}.
 */
@Tag("fence")
@Timeout(value = 1, unit = TimeUnit.DAYS)
class FenceChaosTests {

	private static final Duration TIME = Duration.parse(System.getProperty("holdfast.test.fence-time", "PT10S"));

	private static final int STOCKS = 3;

	private static final int ITEMS = 1_000_000;

	private static final List<String> FIGURES = new ArrayList<>();

	static Stream<Arguments> runs() {
		return Stream.of(TestDatabase.values())
			.flatMap((database) -> Stream.of("READ_COMMITTED", "REPEATABLE_READ", "SERIALIZABLE")
				.flatMap((level) -> Stream.of(Sale.values()).map((sale) -> Arguments.of(database, level, sale))));
	}

	@AfterAll
	static void print() throws IOException {
		String text = String.join("\n", FIGURES) + "\n";
		System.out.println(text);
		Path file = Path.of("target", "chaos", "fence.txt");
		Files.createDirectories(file.getParent());
		Files.writeString(file, text);
	}

	@ParameterizedTest
	@MethodSource("runs")
	void noSaleIsLostWithTheFence(TestDatabase database, String level, Sale sale) throws Exception {
		try (HikariDataSource pool = database.open(); RedisServer redis = RedisServer.start()) {
			JdbcTemplate jdbc = new JdbcTemplate(pool);
			StockSeller.create(jdbc, STOCKS, ITEMS);
			String schema = "holdfast.fence.jdbc.initialize-schema=always";
			try (ConfigurableApplicationContext one = StockSeller.start(pool, redis.host(), redis.port(), level, schema,
					"stock.lease=100ms");
					ConfigurableApplicationContext other = StockSeller.start(pool, redis.host(), redis.port(), level,
							schema, "stock.lease=100ms")) {
				Run run = new Run(sale, System.nanoTime() + TIME.toNanos());
				List<Thread> threads = new ArrayList<>();
				for (int i = 0; i < 12; i++) {
					StockSeller seller = ((i % 2 == 0) ? one : other).getBean(StockSeller.class);
					seller.setPauses(Run::pause);
					threads.add(new Thread(() -> run.sell(seller), "seller " + i));
				}
				threads.add(new Thread(() -> run.breakRedis(one, redis), "faults"));
				threads.forEach(Thread::start);
				for (Thread each : threads) {
					each.join(ChildProcess.PATIENCE.plus(TIME).toMillis());
					assertThat(each.isAlive()).as(each.getName()).isFalse();
				}
				int sales = StockSeller.sales(jdbc);
				int lost = sales - (STOCKS * ITEMS - StockSeller.items(jdbc));
				FIGURES.add(String.format(Locale.ROOT, "%-10s %-15s %-17s sales %5d, lost %4d, %s", database, level,
						sale, sales, lost, run.others()));
				assertThat(sales).isPositive();
				if (sale.fenced) {
					assertThat(lost).as("lost sales").isZero();
				}
				assertThat(one.getBean(HikariDataSource.class).getHikariPoolMXBean().getActiveConnections()).isZero();
				assertThat(other.getBean(HikariDataSource.class).getHikariPoolMXBean().getActiveConnections()).isZero();
			}
		}
	}

	enum Sale {

		WITHIN(false), READ_BEFORE(false), FENCED_WITHIN(true), FENCED_READ_BEFORE(true);

		private final boolean fenced;

		Sale(boolean fenced) {
			this.fenced = fenced;
		}

		void at(StockSeller seller, String stock) {
			switch (this) {
				case WITHIN -> seller.sell(stock);
				case READ_BEFORE -> seller.readAndSell(stock);
				case FENCED_WITHIN -> seller.sellFenced(stock);
				case FENCED_READ_BEFORE -> seller.readAndSellFenced(stock);
			}
		}

	}

	private static final class Run {

		private final Sale sale;

		private final long end;

		private final Map<String, AtomicInteger> others = new ConcurrentHashMap<>();

		Run(Sale sale, long end) {
			this.sale = sale;
			this.end = end;
		}

		/** Pause for longer than the lease time, at one place in 66. */
		static void pause(String place) {
			ThreadLocalRandom random = ThreadLocalRandom.current();
			if (random.nextInt(1000) < 15) {
				LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextInt(150, 400)));
			}
		}

		void sell(StockSeller seller) {
			while (System.nanoTime() < this.end) {
				try {
					this.sale.at(seller, "stock" + ThreadLocalRandom.current().nextInt(STOCKS));
				}
				catch (LeaseLostException ex) {
					count(String.valueOf(ex.getMessage()).contains("refused by the database") ? "refused"
							: "lost lease");
				}
				catch (ConcurrencyFailureException ex) {
					count("serialization failure");
				}
				catch (RuntimeException ex) {
					count(ex.getClass().getSimpleName());
				}
			}
		}

		void breakRedis(ConfigurableApplicationContext instance, RedisServer redis) {
			StringRedisTemplate template = instance.getBean(StringRedisTemplate.class);
			long kill = System.nanoTime() + TimeUnit.SECONDS.toNanos(3);
			while (System.nanoTime() < this.end) {
				LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(ThreadLocalRandom.current().nextInt(100, 400)));
				if (System.nanoTime() > kill) {
					redis.restart();
					kill = System.nanoTime() + TimeUnit.SECONDS.toNanos(6);
				}
				try {
					template.execute((RedisConnection connection) -> {
						connection.serverCommands().flushAll();
						return null;
					});
				}
				catch (RuntimeException ex) {
					// Not connected again yet.
				}
			}
		}

		private void count(String failure) {
			this.others.computeIfAbsent(failure, (key) -> new AtomicInteger()).incrementAndGet();
		}

		String others() {
			return new TreeMap<>(this.others).toString();
		}

	}

}
