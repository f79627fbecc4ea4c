package io.holdfast.jdbc;

import java.util.function.Function;

import javax.sql.DataSource;

import io.holdfast.async.SetupException;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.BadSqlGrammarException;

/**
 * Check of the fence tables at the start of a context. A missing table fails the start.
 */
public final class FenceTableCheck implements SmartInitializingSingleton {

	private static final Log logger = LogFactory.getLog(FenceTableCheck.class);

	private final TransactionFences fences;

	private final Function<DataSource, String> script;

	/**
	 * Create the check of a context.
	 * @param fences the fenced {@code DataSource}s
	 * @param script returns the script that creates the table, for messages
	 */
	public FenceTableCheck(TransactionFences fences, Function<DataSource, String> script) {
		this.fences = fences;
		this.script = script;
	}

	@Override
	public void afterSingletonsInstantiated() {
		this.fences.dataSources().forEach(this::check);
	}

	private void check(FencedDataSource fenced) {
		try {
			fenced.table().probe();
		}
		catch (BadSqlGrammarException ex) {
			SetupException failure = new SetupException(
					"The DataSource '" + fenced.name() + "' has no fence table " + fenced.tableName()
							+ ", which fenced locks need: " + ex.getMostSpecificCause().getMessage(),
					"Create it with this script:\n\n" + this.script.apply(fenced.dataSource()).strip()
							+ "\n\nor set holdfast.fence.jdbc.initialize-schema=always");
			failure.initCause(ex);
			throw failure;
		}
		catch (DataAccessException ex) {
			// Not fatal: applications may start before their database, and fence checks
			// will report a failure.
			logger.warn("The fence table " + fenced.tableName() + " of the DataSource '" + fenced.name()
					+ "' could not be checked: " + ex.getMessage());
		}
	}

}
