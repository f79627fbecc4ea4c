package io.holdfast.test;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.Semaphore;
import org.jspecify.annotations.Nullable;

import org.springframework.stereotype.Service;

/**
 * Service with annotated methods, for tests of slices.
 */
@Service
public class Shop {

	private final Stock stock;

	Shop(Stock stock) {
		this.stock = stock;
	}

	@DistributedLock(key = "'stock:' + #sku", waitTime = "100ms")
	@Semaphore(name = "warehouse", limit = 10, permits = 2)
	public String sell(String sku, int count) {
		return this.stock.take(sku, count) ? "sold" : "sold out";
	}

	@DistributedLock(name = "report", waitTime = "0", onTimeout = OnTimeout.SKIP, minHold = "10m")
	public @Nullable String report() {
		return "written";
	}

}
