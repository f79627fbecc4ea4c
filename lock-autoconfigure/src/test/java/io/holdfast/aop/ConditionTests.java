package io.holdfast.aop;

import java.util.Map;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.stereotype.Component;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Conditions, by which calls need no lock or permits.
 */
class ConditionTests extends LockedTestCase {

	private final Shop shop = start(Map.of("least", "10", "locking", "false"), Shop.class, Settings.class);

	@Test
	@DisplayName("A call with a false condition runs without a lock, and its other expressions are not evaluated")
	void condition() {
		assertThat(this.shop.sell("a", 10)).isEqualTo("sold a");
		assertThat(this.locks.events()).isEmpty();
		assertThat(this.shop.sell(null, 1)).isEqualTo("sold null");
		assertThat(this.locks.events()).isEmpty();
		assertThat(this.shop.sell("a", 11)).isEqualTo("sold a");
		assertThat(this.locks.keys()).containsExactly("stock:a");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.sell(null, 11)).withMessageContaining("#sku");
	}

	@Test
	@DisplayName("A condition may be a property, a bean's answer, or a negation")
	void ofWhatever() {
		this.shop.byProperty();
		this.shop.byBean(1);
		this.shop.negated(true);
		assertThat(this.locks.requests()).isEmpty();
		this.shop.byBean(2);
		this.shop.negated(false);
		assertThat(this.locks.keys()).containsExactly("bean", "negated");
	}

	@Test
	@DisplayName("Lock and permits of one method have separate conditions")
	void ofEach() {
		this.shop.both(true, false);
		assertEvents("permit", "return");
		this.shop.both(false, true);
		this.shop.both(false, false);
		assertEvents("permit", "return", "lock", "unlock");
	}

	@Test
	@DisplayName("A condition that is neither true nor false is an error, and the method does not run")
	void undecided() {
		String place = "@DistributedLock on " + Shop.class.getName() + ".any(Object): condition = \"#value\" ";
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.any(null))
			.withMessageStartingWith(place + "yields neither true nor false: its value is null");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.any("true"))
			.withMessageStartingWith(place + "yields neither true nor false: its value is of type java.lang.String");
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.any(1));
		assertThatIllegalArgumentException().isThrownBy(() -> this.shop.failing("a"))
			.withMessageContaining("condition = \"#value.nothing\" yields neither true nor false")
			.withMessageContaining("nothing");
		assertThat(this.shop.any(true)).isEqualTo("ran");
		assertEvents("lock", "unlock");
	}

	static class Shop {

		@DistributedLock(key = "'stock:' + #sku", condition = "#count > ${least}")
		String sell(@Nullable String sku, int count) {
			return "sold " + sku;
		}

		@DistributedLock(condition = "${locking:true}")
		void byProperty() {
		}

		@DistributedLock(name = "bean", condition = "@settings.isLarge(#count)")
		void byBean(int count) {
		}

		@DistributedLock(name = "negated", condition = "!#free")
		void negated(boolean free) {
		}

		@DistributedLock(name = "both", condition = "#lock")
		@Semaphore(name = "both", limit = 1, condition = "#permit")
		void both(boolean permit, boolean lock) {
		}

		@DistributedLock(condition = "#value")
		String any(@Nullable Object value) {
			return "ran";
		}

		@DistributedLock(condition = "#value.nothing")
		void failing(Object value) {
		}

	}

	@Component("settings")
	static class Settings {

		public boolean isLarge(int count) {
			return count > 1;
		}

	}

}
