package io.holdfast.test;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.test.context.bean.override.mockito.MockitoSpyBean;
import org.springframework.test.util.AopTestUtils;

import static io.holdfast.test.LeaseAssertions.assertRunsWithLock;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.BDDMockito.willAnswer;

/**
 * Test with a spy of an annotated bean.
 */
@SpringBootTest
@AutoConfigureHoldfast
class SpiedShopTests {

	@MockitoSpyBean
	private Shop shop;

	@Test
	@DisplayName("Each call of a spy acquires the lock, also with the null of a matcher")
	void spy() {
		assertThat(this.shop.sell("SKU0001", 3)).isEqualTo("sold");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.sell(null, 0))
			.withMessageContaining("#sku is null");
	}

	@Test
	@DisplayName("A stub of the object behind the proxy is called under the lock")
	void stub() {
		Shop target = AopTestUtils.getUltimateTargetObject(this.shop);
		willAnswer((call) -> {
			assertRunsWithLock("stock:SKU0001");
			return "stubbed";
		}).given(target).sell(any(), anyInt());
		assertThat(this.shop.sell("SKU0001", 3)).isEqualTo("stubbed");
	}

}
