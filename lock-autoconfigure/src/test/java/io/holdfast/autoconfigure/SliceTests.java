package io.holdfast.autoconfigure;

import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.test.autoconfigure.OverrideAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Slice tests, which have only the named auto-configuration.
 */
class SliceTests {

	@Nested
	@SpringBootTest(classes = Application.class)
	@OverrideAutoConfiguration(enabled = false)
	class Alone {

		@Test
		@DisplayName("A slice without Holdfast has no services, and runs annotated methods without locks")
		void withoutHoldfast(@Autowired Shop shop, @Autowired ObjectProvider<LockService> locks) {
			assertThat(AopUtils.isAopProxy(shop)).isFalse();
			assertThat(locks.stream()).isEmpty();
		}

	}

	@Nested
	@SpringBootTest(classes = Application.class, properties = "holdfast.backend=memory")
	@OverrideAutoConfiguration(enabled = false)
	@ImportAutoConfiguration({ HoldfastAutoConfiguration.class, HoldfastAopAutoConfiguration.class })
	class WithHoldfast {

		@Test
		@DisplayName("A slice that imports Holdfast locks in memory")
		void withHoldfast(@Autowired Shop shop, @Autowired LockService locks) {
			assertThat(shop.isLocked(locks)).isTrue();
			assertThat(locks.status("shop").isLocked()).isFalse();
		}

	}

	static class Shop {

		@DistributedLock(name = "shop")
		public boolean isLocked(LockService locks) {
			return locks.status("shop").isLocked();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import(Shop.class)
	static class Application {

	}

}
