package io.holdfast.test;

import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

@RestController
class ShopController {

	private final Shop shop;

	ShopController(Shop shop) {
		this.shop = shop;
	}

	@PostMapping("/sales")
	String sell(@RequestParam String sku) {
		return this.shop.sell(sku, 1);
	}

}
