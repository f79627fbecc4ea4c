package io.holdfast.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;

import com.zaxxer.hikari.HikariDataSource;
import io.holdfast.testing.TestDatabase;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.jdbc.core.JdbcTemplate;

import static org.assertj.core.api.Assertions.assertThat;

class FenceTableTests {

	@ParameterizedTest
	@EnumSource
	void smoke(TestDatabase database) throws SQLException {
		try (HikariDataSource dataSource = database.open()) {
			new JdbcTemplate(dataSource).execute(
					"CREATE TABLE holdfast_fence (lock_key VARCHAR(255) NOT NULL PRIMARY KEY, token BIGINT NOT NULL)");
			FenceTable table = new FenceTable(dataSource, "holdfast_fence", Duration.ofSeconds(10));
			try (Connection connection = dataSource.getConnection()) {
				connection.setAutoCommit(false);
				for (long token : new long[] { 5, 5, 7 }) {
					table.raise(connection, List.of(FenceRow.of("b", token), FenceRow.of("a", token)), true);
					connection.commit();
				}
				try {
					table.raise(connection, List.of(FenceRow.of("a", 6)), true);
					throw new AssertionError();
				}
				catch (LateFenceException ex) {
					System.out.println(ex.getMessage());
				}
				connection.rollback();
				table.reset("a");
				table.raise(connection, List.of(FenceRow.of("a", 6)), false);
				connection.commit();
				assertThat(connection.createStatement().getQueryTimeout()).isZero();
			}
		}
	}

}
