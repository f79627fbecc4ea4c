package io.holdfast.autoconfigure;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

import javax.sql.DataSource;

import io.holdfast.autoconfigure.HoldfastProperties.Fence.Jdbc;
import io.holdfast.autoconfigure.HoldfastProperties.Fence.Jdbc.InitializeSchema;

import org.springframework.boot.jdbc.EmbeddedDatabaseConnection;
import org.springframework.boot.jdbc.init.DataSourceScriptDatabaseInitializer;
import org.springframework.boot.jdbc.init.PlatformPlaceholderDatabaseDriverResolver;
import org.springframework.boot.sql.init.DatabaseInitializationMode;
import org.springframework.boot.sql.init.DatabaseInitializationSettings;
import org.springframework.core.io.Resource;
import org.springframework.core.io.ResourceLoader;
import org.springframework.util.StringUtils;

/**
 * Creates the fence tables at the start if so configured, before other beans use the
 * database. Does not change existing tables.
 */
final class FenceSchemaInitializer extends DataSourceScriptDatabaseInitializer {

	private final List<DataSource> others;

	private final Jdbc properties;

	/**
	 * Create the initializer of a context.
	 * @param dataSources the fenced {@code DataSource}s, at least one
	 * @param properties the location of the script and the mode
	 */
	FenceSchemaInitializer(List<DataSource> dataSources, Jdbc properties) {
		super(dataSources.get(0), settings(dataSources.get(0), properties));
		this.others = dataSources.subList(1, dataSources.size());
		this.properties = properties;
	}

	@Override
	public boolean initializeDatabase() {
		boolean initialized = super.initializeDatabase();
		for (DataSource other : this.others) {
			initialized |= new DataSourceScriptDatabaseInitializer(other, settings(other, this.properties))
				.initializeDatabase();
		}
		return initialized;
	}

	private static DatabaseInitializationSettings settings(DataSource dataSource, Jdbc properties) {
		InitializeSchema mode = properties.initializeSchema();
		DatabaseInitializationSettings settings = new DatabaseInitializationSettings();
		settings.setMode(DatabaseInitializationMode.NEVER);
		// Locate the script only now, because not every database has one.
		if (mode == InitializeSchema.ALWAYS
				|| mode == InitializeSchema.EMBEDDED && EmbeddedDatabaseConnection.isEmbedded(dataSource)) {
			settings.setMode(DatabaseInitializationMode.ALWAYS);
			settings.setSchemaLocations(locations(dataSource, properties));
			// Several instances may create the table at once. The check at the start
			// finds real failures.
			settings.setContinueOnError(true);
		}
		return settings;
	}

	private static List<String> locations(DataSource dataSource, Jdbc properties) {
		PlatformPlaceholderDatabaseDriverResolver resolver = new PlatformPlaceholderDatabaseDriverResolver();
		String platform = properties.platform();
		return StringUtils.hasText(platform) ? resolver.resolveAll(platform, properties.schema())
				: resolver.resolveAll(dataSource, properties.schema());
	}

	/**
	 * Return the script for a database, for messages.
	 * @param dataSource the database
	 * @param properties the location of the script
	 * @param resources the loader of scripts
	 * @return the script, or a message with its location if it cannot be read
	 */
	static String script(DataSource dataSource, Jdbc properties, ResourceLoader resources) {
		try {
			Resource script = resources.getResource(locations(dataSource, properties).get(0));
			return script.getContentAsString(StandardCharsets.UTF_8).replace("holdfast_fence", properties.tableName());
		}
		catch (IOException | IllegalStateException ex) {
			return "There is no script at " + properties.schema() + ": " + ex.getMessage();
		}
	}

}
