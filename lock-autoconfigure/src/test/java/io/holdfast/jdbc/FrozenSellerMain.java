package io.holdfast.jdbc;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;

import com.zaxxer.hikari.HikariConfig;

import org.springframework.context.ConfigurableApplicationContext;

/**
 * Process that sells once, and pauses in a place until the test continues it.
 */
final class FrozenSellerMain {

	private FrozenSellerMain() {
	}

	/**
	 * Sell.
	 * @param args URL, user and password of the database, port of Redis, place of the
	 * pause, name of the sale
	 */
	public static void main(String[] args) {
		HikariConfig database = new HikariConfig();
		database.setJdbcUrl(args[0]);
		database.setUsername(args[1]);
		database.setPassword(args[2]);
		BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
		try (ConfigurableApplicationContext context = StockSeller.start(database, "127.0.0.1",
				Integer.parseInt(args[3]), "READ_COMMITTED", "stock.lease=1s")) {
			StockSeller seller = context.getBean(StockSeller.class);
			seller.setPauses((place) -> {
				if (place.equals(args[4])) {
					System.out.println("standing");
					readLine(input);
				}
			});
			try {
				FenceChaosTests.Sale.valueOf(args[5]).at(seller, "stock0");
				System.out.println("ended: sold");
			}
			catch (RuntimeException ex) {
				System.out.println("ended: " + ex.getClass().getSimpleName());
			}
			readLine(input);
		}
	}

	private static void readLine(BufferedReader input) {
		try {
			input.readLine();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
