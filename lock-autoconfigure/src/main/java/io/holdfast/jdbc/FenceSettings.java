package io.holdfast.jdbc;

import java.time.Duration;
import java.util.List;

/**
 * The settings of the fences of a context.
 *
 * @param tableName name of the fence table, with its schema if need be
 * @param timeout longest wait for a row of the table, above zero
 * @param dataSources names of the beans of the fenced {@code DataSource}s; empty for that
 * of the primary transaction manager
 */
public record FenceSettings(String tableName, Duration timeout, List<String> dataSources) {

}
