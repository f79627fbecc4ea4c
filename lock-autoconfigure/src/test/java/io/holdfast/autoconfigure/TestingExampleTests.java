package io.holdfast.autoconfigure;

import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.memory.MemoryLeases;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Test of an application's annotated beans, without Redis, mocks or {@code
 * lock-starter-test}.
 */
@SpringBootTest(properties = "holdfast.backend=memory")
class TestingExampleTests {

	@Autowired
	private Shop shop;

	@Autowired
	private LockService locks;

	@Autowired
	private MemoryLeases leases;

	@Test
	void sells() {
		assertThat(this.shop.sell("SKU0001", 3)).isEqualTo("sold");
	}

	@Test
	void doesNotSellWhileAnotherInstanceDoes() {
		LockLease other = this.locks.acquireAsync(LockRequest.of("stock:SKU0001")).join();
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> this.shop.sell("SKU0001", 3));
		assertThat(this.shop.sell("SKU0002", 3)).isEqualTo("sold");
		other.release();
	}

	@Test
	void canSellAgainAfterAFailure() {
		assertThatIllegalStateException().isThrownBy(() -> this.shop.sell("SKU0001", 1000));
		assertThat(this.locks.status("stock:SKU0001").isLocked()).isFalse();
	}

	@AfterEach
	void nothingIsHeld() {
		assertThat(this.leases.isIdle()).isTrue();
	}

	static class Shop {

		@DistributedLock(key = "'stock:' + #sku", waitTime = "100ms")
		@Semaphore(name = "warehouse", limit = 10)
		public String sell(String sku, int count) {
			if (count > 10) {
				throw new IllegalStateException("There are no " + count + " of " + sku);
			}
			return "sold";
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import(Shop.class)
	static class Application {

	}

}
