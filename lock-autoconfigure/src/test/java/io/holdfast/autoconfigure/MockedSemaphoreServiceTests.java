package io.holdfast.autoconfigure;

import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.annotation.Semaphore;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.mockito.ArgumentMatchers;
import org.mockito.Mockito;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.bean.override.mockito.MockitoBean;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;

/**
 * An application's own tests put a mock in the place of the semaphore service. Redis is
 * not needed.
 */
@SpringBootTest
class MockedSemaphoreServiceTests {

	@MockitoBean
	private SemaphoreService semaphores;

	@Autowired
	private Shop shop;

	@Test
	@DisplayName("A mock replaces the semaphore service, and annotated methods ask it")
	void mockReplacesTheService() {
		PermitLease lease = Mockito.mock();
		given(this.semaphores.acquire(ArgumentMatchers.any(SemaphoreRequest.class))).willReturn(lease);
		assertThat(this.shop.sell()).isEqualTo("sold");
		Mockito.verify(lease).release();
	}

	static class Shop {

		@Semaphore(name = "shop", limit = 3)
		public String sell() {
			return "sold";
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import(Shop.class)
	static class Application {

	}

}
