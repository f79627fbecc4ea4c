package io.holdfast.test;

import io.holdfast.LeaseLostException;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.jdbc.Fences;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.test.jdbc.JdbcTestUtils;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Late holder of a fenced lock, simulated in the fence table of an embedded database.
 */
@SpringBootTest
@AutoConfigureHoldfast
@Import(LateHolderTests.Sales.class)
class LateHolderTests {

	@Autowired
	private Sales sales;

	@Autowired
	private JdbcTemplate jdbc;

	@Autowired
	private Fences fences;

	@Test
	@DisplayName("A higher token in the fence table makes the next holder late, until the key is reset")
	void refusesALateHolder() {
		this.jdbc.execute("CREATE TABLE sale (sku VARCHAR(20))");
		this.sales.sell("SKU0001");
		this.jdbc.update("UPDATE holdfast_fence SET token = token * 2 WHERE lock_key = 'lock:stock:SKU0001'");
		assertThatExceptionOfType(LeaseLostException.class).isThrownBy(() -> this.sales.sell("SKU0001"));
		this.fences.reset("stock:SKU0001");
		this.sales.sell("SKU0001");
		assertThat(JdbcTestUtils.countRowsInTable(this.jdbc, "sale")).isEqualTo(2);
	}

	static class Sales {

		private final JdbcTemplate jdbc;

		Sales(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@DistributedLock(key = "'stock:' + #sku", fenced = true)
		@Transactional
		public void sell(String sku) {
			this.jdbc.update("INSERT INTO sale (sku) VALUES (?)", sku);
		}

	}

}
