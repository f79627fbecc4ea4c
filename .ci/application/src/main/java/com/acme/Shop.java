package com.acme;

import io.holdfast.annotation.DistributedLock;

import org.springframework.stereotype.Service;

@Service
public class Shop {

	@DistributedLock(key = "'stock:' + #sku")
	public void sell(String sku, Stock stock) {
		stock.take();
	}

}
