package com.acme;

import io.holdfast.test.AutoConfigureHoldfast;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;

import static io.holdfast.test.LeaseAssertions.assertRunsWithLock;
import static org.assertj.core.api.Assertions.assertThat;

@SpringBootTest
@AutoConfigureHoldfast
class ShopTests {

	@Autowired
	private Shop shop;

	@Test
	void sellsUnderALock() {
		Stock stock = new Stock(1) {

			@Override
			public void take() {
				assertRunsWithLock("stock:SKU1");
				super.take();
			}

		};
		this.shop.sell("SKU1", stock);
		assertThat(stock.sold()).isEqualTo(1);
	}

}
