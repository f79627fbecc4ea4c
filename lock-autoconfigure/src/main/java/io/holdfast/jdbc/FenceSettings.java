package io.holdfast.jdbc;

import java.time.Duration;
import java.util.List;

/**
 * Settings of the fences of a context.
 *
 * @param tableName the name of the fence table, with its schema if needed
 * @param timeout the maximum wait for a row of the table, above zero
 * @param dataSources the bean names of the fenced {@code DataSource}s; empty for the
 * {@code DataSource} of the primary transaction manager
 */
public record FenceSettings(String tableName, Duration timeout, List<String> dataSources) {

}
