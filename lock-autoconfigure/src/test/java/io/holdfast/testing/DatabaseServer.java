package io.holdfast.testing;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import com.zaxxer.hikari.HikariConfig;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;

import org.springframework.util.FileSystemUtils;

/**
 * PostgreSQL or MariaDB server that the tests of this JVM share: the installed program
 * with its own data, or else a server in Docker. Starts at its first use, and ends with
 * the JVM.
 */
final class DatabaseServer {

	private static final Log logger = LogFactory.getLog(DatabaseServer.class);

	private static final String USER = "test";

	private static final Map<Kind, Lookup> SERVERS = Map.of(Kind.POSTGRESQL, new Lookup(Kind.POSTGRESQL), Kind.MARIADB,
			new Lookup(Kind.MARIADB));

	private final String url;

	private DatabaseServer(Kind kind, String host, int port) {
		this.url = "jdbc:" + kind.protocol + "://" + host + ":" + port + "/";
		Awaitility.await("answer of " + this.url)
			.atMost(ChildProcess.PATIENCE)
			.pollDelay(Duration.ZERO)
			.pollInterval(Duration.ofMillis(50))
			.ignoreExceptionsInstanceOf(SQLException.class)
			.until(() -> {
				connect(kind.firstDatabase).close();
				return true;
			});
		logger.info("Tests use the database at " + this.url);
	}

	/**
	 * Return the server, and start it if necessary.
	 * @return the server, or {@code null} without a program and Docker
	 */
	static @Nullable DatabaseServer postgresql() {
		return SERVERS.get(Kind.POSTGRESQL).server();
	}

	/**
	 * Return the server, and start it if necessary.
	 * @return the server, or {@code null} without a program and Docker
	 */
	static @Nullable DatabaseServer mariaDb() {
		return SERVERS.get(Kind.MARIADB).server();
	}

	/**
	 * Create a database.
	 * @param name the name of the database
	 * @return the configuration of its connections
	 */
	HikariConfig create(String name) {
		try (Connection connection = connect(this.url.contains("postgres") ? Kind.POSTGRESQL.firstDatabase : "");
				Statement statement = connection.createStatement()) {
			statement.execute("CREATE DATABASE " + name);
		}
		catch (SQLException ex) {
			throw new IllegalStateException("No database " + name + " at " + this.url, ex);
		}
		return TestDatabase.config(this.url + name, USER, USER);
	}

	private Connection connect(String database) throws SQLException {
		return DriverManager.getConnection(this.url + database, USER, USER);
	}

	private enum Kind {

		POSTGRESQL("postgresql", "postgres", "postgres", "postgres:17-alpine", 5432) {
			@Override
			@Nullable Path program() throws IOException {
				Path versions = Path.of("/usr/lib/postgresql");
				if (!Files.isDirectory(versions)) {
					return null;
				}
				try (Stream<Path> found = Files.list(versions)) {
					return found.map((version) -> version.resolve("bin/postgres"))
						.filter(Files::isExecutable)
						.max(Comparator.naturalOrder())
						.orElse(null);
				}
			}

			@Override
			List<String> preparation(Path program, Path directory) {
				return List.of(program.resolveSibling("initdb").toString(), "-D", directory + "/data", "-U", USER, "-A",
						"trust", "-E", "UTF8", "--locale=C", "--no-sync");
			}

			@Override
			List<String> command(Path program, Path directory, int port) {
				return List.of(program.toString(), "-D", directory + "/data", "-p", Integer.toString(port), "-c",
						"listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off", "-c",
						"full_page_writes=off", "-c", "synchronous_commit=off", "-c", "shared_buffers=16MB");
			}

			@Override
			Map<String, String> environment() {
				return Map.of("POSTGRES_USER", USER, "POSTGRES_PASSWORD", USER);
			}
		},

		MARIADB("mariadb", "mysql", "", "mariadb:11.8", 3306) {
			@Override
			@Nullable Path program() {
				Path program = Path.of("/usr/sbin/mariadbd");
				return Files.isExecutable(program) ? program : null;
			}

			@Override
			List<String> preparation(Path program, Path directory) {
				return List.of("mariadb-install-db", "--no-defaults", "--datadir=" + directory + "/data",
						tmpdir(directory), "--auth-root-authentication-method=normal", "--skip-test-db");
			}

			@Override
			List<String> command(Path program, Path directory, int port) throws IOException {
				Files.writeString(directory.resolve("init.sql"), "CREATE USER '" + USER + "'@'%' IDENTIFIED BY '" + USER
						+ "';\nGRANT ALL PRIVILEGES ON *.* TO '" + USER + "'@'%' WITH GRANT OPTION;\n");
				return List.of(program.toString(), "--no-defaults", "--datadir=" + directory + "/data",
						tmpdir(directory), "--port=" + port, "--bind-address=127.0.0.1",
						"--socket=" + directory + "/socket", "--pid-file=" + directory + "/pid",
						"--init-file=" + directory + "/init.sql", "--skip-name-resolve",
						"--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M");
			}

			/**
			 * A starting server deletes the temporary tables of all servers in its
			 * tmpdir.
			 */
			private static String tmpdir(Path directory) {
				return "--tmpdir=" + directory;
			}

			@Override
			Map<String, String> environment() {
				return Map.of("MARIADB_USER", USER, "MARIADB_PASSWORD", USER, "MARIADB_ROOT_PASSWORD", USER);
			}
		};

		private final String protocol;

		/** User of the program, which a superuser may not run. */
		private final String systemUser;

		private final String firstDatabase;

		private final String image;

		private final int port;

		Kind(String protocol, String systemUser, String firstDatabase, String image, int port) {
			this.protocol = protocol;
			this.systemUser = systemUser;
			this.firstDatabase = firstDatabase;
			this.image = image;
			this.port = port;
		}

		abstract @Nullable Path program() throws IOException;

		abstract List<String> preparation(Path program, Path directory);

		abstract List<String> command(Path program, Path directory, int port) throws IOException;

		abstract Map<String, String> environment();

	}

	/** Look-up of a kind of server, at most once. */
	private static final class Lookup {

		private final Kind kind;

		private boolean done;

		private @Nullable DatabaseServer server;

		Lookup(Kind kind) {
			this.kind = kind;
		}

		synchronized @Nullable DatabaseServer server() {
			if (!this.done) {
				this.done = true;
				try {
					Path program = this.kind.program();
					this.server = (program != null) ? started(program) : inDocker();
				}
				catch (IOException ex) {
					throw new UncheckedIOException(ex);
				}
			}
			return this.server;
		}

		private DatabaseServer started(Path program) throws IOException {
			Path directory = Files.createTempDirectory("holdfast-" + this.kind.protocol);
			boolean superuser = "root".equals(System.getProperty("user.name"));
			if (superuser) {
				UserPrincipal owner = directory.getFileSystem()
					.getUserPrincipalLookupService()
					.lookupPrincipalByName(this.kind.systemUser);
				Files.setOwner(directory, owner);
			}
			run(superuser, this.kind.preparation(program, directory), directory);
			int port = FreePorts.next();
			Process process = start(superuser, this.kind.command(program, directory, port), directory);
			Runtime.getRuntime().addShutdownHook(new Thread(() -> end(process, directory), "end-database-server"));
			return new DatabaseServer(this.kind, "127.0.0.1", port);
		}

		private void run(boolean superuser, List<String> command, Path directory) throws IOException {
			Process process = start(superuser, command, directory);
			try {
				if (!process.waitFor(3, TimeUnit.MINUTES) || process.exitValue() != 0) {
					throw new IllegalStateException(
							command + " failed: " + Files.readString(directory.resolve("log.txt")));
				}
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
				throw new IllegalStateException("Interrupted while " + command + " ran", ex);
			}
		}

		private Process start(boolean superuser, List<String> command, Path directory) throws IOException {
			List<String> all = new ArrayList<>();
			if (superuser) {
				all.addAll(List.of("setpriv", "--reuid=" + this.kind.systemUser, "--regid=" + this.kind.systemUser,
						"--clear-groups"));
			}
			all.addAll(command);
			File log = directory.resolve("log.txt").toFile();
			return new ProcessBuilder(all).directory(directory.toFile())
				.redirectErrorStream(true)
				.redirectOutput(ProcessBuilder.Redirect.appendTo(log))
				.start();
		}

		/**
		 * End a server immediately, but so that the server releases its shared memory.
		 */
		private static void end(Process process, Path directory) {
			try {
				new ProcessBuilder("sh", "-c", "kill -QUIT " + process.pid()).start().waitFor();
				process.waitFor(2, TimeUnit.SECONDS);
			}
			catch (IOException | InterruptedException ex) {
				// The process is killed in any case.
			}
			process.destroyForcibly();
			FileSystemUtils.deleteRecursively(directory.toFile());
		}

		private @Nullable DatabaseServer inDocker() {
			if (!DockerClientFactory.instance().isDockerAvailable()) {
				return null;
			}
			try {
				SharedRedis.pullIfMissing(this.kind.image);
				GenericContainer<?> container = new GenericContainer<>(this.kind.image).withEnv(this.kind.environment())
					.withExposedPorts(this.kind.port);
				container.start();
				return new DatabaseServer(this.kind, container.getHost(), container.getMappedPort(this.kind.port));
			}
			catch (RuntimeException ex) {
				logger.warn("The image " + this.kind.image + " does not start in Docker: " + ex);
				return null;
			}
		}

	}

}
