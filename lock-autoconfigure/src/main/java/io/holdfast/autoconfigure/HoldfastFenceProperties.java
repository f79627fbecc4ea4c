package io.holdfast.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.sql.init.DatabaseInitializationMode;

/**
 * Properties of the fences in databases. Immutable.
 *
 * @param enabled Whether the fence table is checked, and perhaps created, at the start,
 * and cleaned up; by default if a method of a bean is fenced, or initialize-schema is
 * always
 * @param initializeSchema Whether the fence table is created at the start: always, only
 * in embedded databases, or never
 * @param platform Name of the database, in place of @@platform@@ in the location of the
 * script; detected by default
 * @param schema Location of the script that creates the fence table. The scripts for
 * postgresql, mariadb and h2 are tested; those for mysql, oracle, sqlserver, db2 and
 * hsqldb are not
 * @param tableName Name of the fence table, with its schema if needed; with another name
 * than the default, also set the location of your own script
 * @param timeout How long a check waits for the transactions of other holders, 1s at
 * least
 * @param retention How long the token of a lock is kept after the grant, 1d at least, and
 * not shorter than leases; a holder that is later than that is not refused
 * @param dataSources Bean names of the fenced DataSources; by default the DataSource of
 * the primary transaction manager
 */
@ConfigurationProperties("holdfast.fence.jdbc")
public record HoldfastFenceProperties(@Nullable Boolean enabled,
		@DefaultValue("embedded") DatabaseInitializationMode initializeSchema, @Nullable String platform,
		@DefaultValue("classpath:io/holdfast/jdbc/schema-@@platform@@.sql") String schema,
		@DefaultValue("holdfast_fence") String tableName, @DefaultValue("10s") Duration timeout,
		@DefaultValue("30d") Duration retention, @DefaultValue List<String> dataSources) {

	/** Refuse invalid values, alone or in combination with the properties of locks. */
	void check(HoldfastProperties others) {
		PropertyBounds.checkBounds(Duration.ofSeconds(1), "fence.jdbc.timeout", this.timeout);
		PropertyBounds.checkBounds(Duration.ofDays(1), "fence.jdbc.retention", this.retention);
		Duration longest = Stream.of(others.lock().leaseTime(), others.lock().maxHold(), others.redis().longestLease())
			.filter((time) -> time != null)
			.max(Duration::compareTo)
			.orElseThrow();
		PropertyBounds.check(this.retention.compareTo(longest) >= 0, "fence.jdbc.retention", this.retention,
				"it must not be shorter than the longest of holdfast.lock.lease-time, holdfast.lock.max-hold and "
						+ "holdfast.redis.longest-lease, which is " + PropertyBounds.text(longest));
		PropertyBounds.check(this.tableName.matches("[\\w$#.]+"), "fence.jdbc.table-name", this.tableName,
				"it must be letters, digits and underscores, with a dot after the schema");
	}

}
