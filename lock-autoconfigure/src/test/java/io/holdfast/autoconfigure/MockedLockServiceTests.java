package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.reactive.ReactiveLockService;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.mockito.ArgumentMatchers;
import org.mockito.Mockito;
import reactor.core.publisher.Mono;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.bean.override.mockito.MockitoBean;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;

/**
 * Mocks in the place of the services, without Redis.
 */
@SpringBootTest
class MockedLockServiceTests {

	@MockitoBean
	private LockService locks;

	@MockitoBean
	private SemaphoreService semaphores;

	@Autowired
	private Shop shop;

	@Test
	@DisplayName("A mock replaces the lock service, and annotated methods use it")
	void mockReplacesTheService() {
		LockLease lease = Mockito.mock();
		given(this.locks.acquire(ArgumentMatchers.any(LockRequest.class))).willReturn(lease);
		assertThat(this.shop.sell()).isEqualTo("sold");
		Mockito.verify(lease).release();
	}

	@Test
	@DisplayName("A mock replaces the semaphore service, too")
	void mockReplacesTheSemaphoreService() {
		PermitLease lease = Mockito.mock();
		given(this.semaphores.acquire(ArgumentMatchers.any(SemaphoreRequest.class))).willReturn(lease);
		assertThat(this.shop.limited()).isEqualTo("sold");
		Mockito.verify(lease).release();
	}

	@Test
	@DisplayName("A mock's lease is enough for methods with futures and chains, also without a future of its release")
	void laterResults() {
		LockLease lease = Mockito.mock();
		// Also with newer versions of Mockito, whose mocks return completed futures.
		given(lease.releaseAsync()).willReturn(null);
		given(this.locks.acquireAsync(ArgumentMatchers.any())).willReturn(CompletableFuture.completedFuture(lease));
		assertThat(this.shop.sellLater()).succeedsWithin(Duration.ofSeconds(10)).isEqualTo("sold");
		assertThat(this.shop.sellReactively().block(Duration.ofSeconds(10))).isEqualTo("sold");
		ReactiveLockService reactive = new ReactiveLockService(this.locks);
		assertThat(reactive.withLock("shop", Mono.just("sold")).block(Duration.ofSeconds(10))).isEqualTo("sold");
		Mockito.verify(lease, Mockito.times(3)).releaseAsync();
	}

	static class Shop {

		@Semaphore(name = "shop", limit = 3)
		public String limited() {
			return "sold";
		}

		@DistributedLock(name = "shop")
		public String sell() {
			return "sold";
		}

		@DistributedLock(name = "shop")
		public CompletableFuture<String> sellLater() {
			return CompletableFuture.completedFuture("sold");
		}

		@DistributedLock(name = "shop")
		public Mono<String> sellReactively() {
			return Mono.just("sold");
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import(Shop.class)
	static class Application {

	}

}
