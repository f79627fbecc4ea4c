package io.holdfast.autoconfigure;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.mockito.ArgumentMatchers;
import org.mockito.Mockito;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.test.context.bean.override.mockito.MockitoBean;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;

/**
 * An application's own tests put a mock in the place of the lock service. Redis is not
 * needed.
 */
@SpringBootTest
class MockedLockServiceTests {

	@MockitoBean
	private LockService locks;

	@Autowired
	private Shop shop;

	@Test
	@DisplayName("A mock replaces the lock service, and annotated methods ask it")
	void mockReplacesTheService() {
		LockLease lease = Mockito.mock();
		given(this.locks.acquire(ArgumentMatchers.any(LockRequest.class))).willReturn(lease);
		assertThat(this.shop.sell()).isEqualTo("sold");
		Mockito.verify(lease).release();
	}

	static class Shop {

		@DistributedLock(name = "shop")
		public String sell() {
			return "sold";
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

		@Bean
		Shop shop() {
			return new Shop();
		}

	}

}
