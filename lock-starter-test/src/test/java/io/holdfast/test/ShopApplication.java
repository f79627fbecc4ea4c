package io.holdfast.test;

import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

/**
 * The application that the tests of this module are about.
 */
@SpringBootApplication
class ShopApplication {

	@Bean
	Stock stock() {
		return (sku, count) -> count <= 100;
	}

}
