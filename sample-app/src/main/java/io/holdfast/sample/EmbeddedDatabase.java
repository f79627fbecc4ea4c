package io.holdfast.sample;

import java.net.BindException;
import java.sql.SQLException;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.h2.tools.Server;

import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.aot.AbstractAotProcessor;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.core.SpringProperties;

/**
 * Server of an H2 database in memory for all instances on this machine, unless another
 * instance has started a server. Ends with its instance.
 */
class EmbeddedDatabase implements ApplicationContextInitializer<GenericApplicationContext> {

	private static final Log logger = LogFactory.getLog(EmbeddedDatabase.class);

	@Override
	public void initialize(GenericApplicationContext context) {
		if (SpringProperties.getFlag(AbstractAotProcessor.AOT_PROCESSING)) {
			// The application is being built, not run.
			return;
		}
		String port = context.getEnvironment().getRequiredProperty("shop.database-port");
		try {
			Server server = Server.createTcpServer("-tcpPort", port, "-tcpDaemon", "-ifNotExists").start();
			logger.info("Serving the database of all instances at port " + port);
			// Registered before the beans that connect, and therefore destroyed after
			// these beans.
			context.getDefaultListableBeanFactory().registerDisposableBean("embeddedDatabase", server::stop);
		}
		catch (SQLException ex) {
			if (!(NestedExceptionUtils.getRootCause(ex) instanceof BindException)) {
				throw new IllegalStateException("Cannot serve a database at port " + port, ex);
			}
		}
	}

}
