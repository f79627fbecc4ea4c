package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

import io.holdfast.autoconfigure.engine.PropertyBounds;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.sql.init.DatabaseInitializationMode;

/**
 * Properties of the fences in databases. Immutable.
 *
 * @param enabled Whether the fence table is looked at, and perhaps created, at the start,
 * and cleaned up; by default if a method of a bean is fenced, or initialize-schema is
 * always
 * @param initializeSchema Whether the fence table is created at the start: always, in
 * databases that are embedded, or never
 * @param platform Name of the database, in place of @@platform@@ in the location of the
 * script; found out by default
 * @param schema Location of the script that creates the fence table. Those for
 * postgresql, mariadb and h2 are tested; there are scripts for mysql, oracle, sqlserver,
 * db2 and hsqldb, too, which are not
 * @param tableName Name of the fence table, with its schema if need be; with another one
 * than the default, set the location of a script of your own too
 * @param timeout How long a check waits for the transactions of other holders, 1s at
 * least
 * @param retention How long the token of a lock is kept after the lease was granted, 1d
 * at least, and not shorter than leases; a holder that is later than that is let in
 * @param dataSources Names of the beans of the fenced DataSources; by default that of the
 * primary transaction manager
 */
@ConfigurationProperties("holdfast.fence.jdbc")
public record HoldfastFenceProperties(@Nullable Boolean enabled,
		@DefaultValue("embedded") DatabaseInitializationMode initializeSchema, @Nullable String platform,
		@DefaultValue("classpath:io/holdfast/jdbc/schema-@@platform@@.sql") String schema,
		@DefaultValue("holdfast_fence") String tableName, @DefaultValue("10s") Duration timeout,
		@DefaultValue("30d") Duration retention, @DefaultValue List<String> dataSources) {

	/** Refuse values that make no sense, alone or beside those of locks. */
	void check(HoldfastProperties others) {
		PropertyBounds.checkBounds(Duration.ofSeconds(1), "fence.jdbc.timeout", this.timeout);
		PropertyBounds.checkBounds(Duration.ofDays(1), "fence.jdbc.retention", this.retention);
		Duration longest = Stream.of(others.lock().leaseTime(), others.lock().maxHold(), others.redis().longestLease())
			.filter((time) -> time != null)
			.max(Duration::compareTo)
			.orElseThrow();
		PropertyBounds.check(this.retention.compareTo(longest) >= 0, "fence.jdbc.retention", this.retention,
				"it must not be shorter than the longest of holdfast.lock.lease-time, holdfast.lock.max-hold and "
						+ "holdfast.redis.longest-lease, which is " + longest.toHours() + "h");
		PropertyBounds.check(this.tableName.matches("[\\w$#.]+"), "fence.jdbc.table-name", this.tableName,
				"it must be letters, digits and underscores, with a dot after the schema");
	}

}
