package io.holdfast.test;

import io.holdfast.LockService;
import io.holdfast.memory.MemoryLeases;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.jdbc.test.autoconfigure.JdbcTest;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.transaction.AfterTransaction;
import org.springframework.test.context.transaction.TestTransaction;

import static io.holdfast.test.LeaseAssertions.assertNothingIsHeld;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests in transactions, as in slices of JPA, too.
 */
@JdbcTest
@AutoConfigureHoldfast
@Import(Shop.class)
class JdbcSliceTests {

	@Autowired
	private Shop shop;

	@Autowired
	private LockService locks;

	@Autowired
	private MemoryLeases leases;

	@AfterTransaction
	void nothingIsHeld() {
		assertNothingIsHeld(this.leases);
	}

	@Test
	@DisplayName("A lock is held until the end of the test's transaction")
	void sells() {
		assertThat(this.shop.sell("SKU0001", 3)).isEqualTo("sold");
		assertThat(this.locks.status("stock:SKU0001").isLocked()).isTrue();
		TestTransaction.end();
		assertThat(this.locks.status("stock:SKU0001").isLocked()).isFalse();
	}

}
