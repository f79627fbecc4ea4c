package com.acme;

import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import redis.embedded.RedisServer;

import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Sells a stock in two contexts, as two instances of an application would, and fails if
 * they sell too much.
 */
@SpringBootApplication
public class Application {

	private static final int STOCK = 100;

	private static final int BUYERS = 300;

	public static void main(String[] args) throws Exception {
		int port;
		try (ServerSocket socket = new ServerSocket(0)) {
			port = socket.getLocalPort();
		}
		RedisServer redis = RedisServer.builder().port(port).bind("127.0.0.1").setting("save \"\"").build();
		redis.start();
		try (ConfigurableApplicationContext first = start(port); ConfigurableApplicationContext second = start(port)) {
			sell(first.getBean(Shop.class), second.getBean(Shop.class));
			try (LockLease lease = first.getBean(LockService.class).acquire("report")) {
				require(second.getBean(LockService.class).tryAcquire("report").isEmpty(), "A lock was granted twice");
				require(lease.fencingToken() > 0 && lease.isHeld(), "The lock is not held");
			}
		}
		finally {
			redis.stop();
		}
		System.out.println("application: ok");
	}

	private static ConfigurableApplicationContext start(int port) {
		return new SpringApplicationBuilder(Application.class).properties("spring.data.redis.port=" + port).run();
	}

	private static void sell(Shop... shops) throws Exception {
		Stock stock = new Stock(STOCK);
		ExecutorService buyers = Executors.newFixedThreadPool(16);
		List<Future<?>> sales = new ArrayList<>();
		for (int i = 0; i < BUYERS; i++) {
			Shop shop = shops[i % shops.length];
			sales.add(buyers.submit(() -> shop.sell("SKU1", stock)));
		}
		for (Future<?> sale : sales) {
			sale.get(1, TimeUnit.MINUTES);
		}
		buyers.shutdown();
		require(stock.sold() == STOCK, "Sold " + stock.sold() + " of " + STOCK);
		require(stock.mostAtOnce() == 1, stock.mostAtOnce() + " buyers had the lock at the same time");
	}

	private static void require(boolean condition, String message) {
		if (!condition) {
			throw new IllegalStateException(message);
		}
	}

}
