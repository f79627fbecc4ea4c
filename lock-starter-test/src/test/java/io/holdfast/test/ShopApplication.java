package io.holdfast.test;

import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

/**
 * Application under test in this module.
 */
@SpringBootApplication
class ShopApplication {

	@Bean
	Stock stock() {
		return (sku, count) -> count <= 100;
	}

}
