package io.holdfast.test;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.webmvc.test.autoconfigure.WebMvcTest;
import org.springframework.context.annotation.Import;
import org.springframework.test.context.bean.override.mockito.MockitoBean;
import org.springframework.test.web.servlet.assertj.MockMvcTester;

import static io.holdfast.test.LeaseAssertions.assertRunsWithLock;
import static io.holdfast.test.LeaseAssertions.assertRunsWithoutLease;
import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;

/**
 * Tests of a controller and the annotated service behind it.
 */
@WebMvcTest(ShopController.class)
@AutoConfigureHoldfast
@Import(Shop.class)
class WebMvcSliceTests {

	@Autowired
	private MockMvcTester mvc;

	@MockitoBean
	private Stock stock;

	@Test
	@DisplayName("Annotated methods behind a controller are locked")
	void sells() {
		given(this.stock.take("SKU0001", 1)).willAnswer((call) -> {
			assertRunsWithLock("stock:SKU0001");
			return true;
		});
		assertThat(this.mvc.post().uri("/sales?sku=SKU0001")).hasStatusOk().hasBodyTextEqualTo("sold");
		assertRunsWithoutLease();
	}

}
