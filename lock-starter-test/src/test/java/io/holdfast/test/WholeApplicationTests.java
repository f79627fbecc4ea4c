package io.holdfast.test;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.memory.MemoryLeases;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.test.context.bean.override.mockito.MockitoBean;

import static io.holdfast.test.LeaseAssertions.assertNothingIsHeld;
import static io.holdfast.test.LeaseAssertions.assertRunsWithLock;
import static io.holdfast.test.LeaseAssertions.assertRunsWithPermits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;
import static org.mockito.BDDMockito.given;

/**
 * Tests of the whole application, with Holdfast in memory.
 */
@SpringBootTest
@AutoConfigureHoldfast
class WholeApplicationTests {

	@Autowired
	private Shop shop;

	@Autowired
	private LockService locks;

	@Autowired
	private LeaseEngine engine;

	@Autowired
	private MemoryLeases leases;

	@Autowired
	private HoldfastClock clock;

	@MockitoBean
	private Stock stock;

	@AfterEach
	void nothingIsHeld() {
		assertNothingIsHeld(this.leases);
	}

	@Test
	@DisplayName("Calls of an annotated method run with its lock and permits")
	void sells() {
		given(this.stock.take("SKU0001", 3)).willAnswer((call) -> {
			assertRunsWithLock("stock:SKU0001");
			assertRunsWithPermits("warehouse", 2);
			return true;
		});
		assertThat(this.shop.sell("SKU0001", 3)).isEqualTo("sold");
	}

	@Test
	@DisplayName("A call is refused while another instance has the lock")
	void doesNotSellWhileAnotherInstanceDoes() {
		try (LockLease other = this.locks.acquireAsync(LockRequest.of("stock:SKU0001")).join()) {
			assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> this.shop.sell("SKU0001", 3));
			assertThat(other.isHeld()).isTrue();
		}
	}

	@Test
	@DisplayName("A wait of an hour ends after an advance of the clock by an hour")
	void givesUp() {
		LockRequest patient = LockRequest.of("stock:SKU0001").waitTime(Duration.ofHours(1));
		try (LockLease other = this.locks.acquireAsync(patient).join()) {
			CompletableFuture<LockLease> waiting = CompletableFuture.supplyAsync(() -> this.locks.acquire(patient));
			await().until(() -> this.engine.status().waiting() == 1);
			this.clock.advance(Duration.ofHours(1));
			assertThat(waiting).failsWithin(10, TimeUnit.SECONDS)
				.withThrowableThat()
				.withCauseInstanceOf(LockNotAcquiredException.class);
			assertThat(other.isHeld()).isTrue();
		}
	}

	@Test
	@DisplayName("A job is skipped until the end of its minHold, without waiting")
	void runsTheJobOnce() {
		assertThat(this.shop.report()).isEqualTo("written");
		this.clock.advance(Duration.ofMinutes(9));
		assertThat(this.shop.report()).isNull();
		this.clock.advance(Duration.ofMinutes(1));
		assertThat(this.shop.report()).isEqualTo("written");
		this.clock.advance(Duration.ofMinutes(10));
	}

}
