package io.holdfast.faults;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import org.springframework.data.redis.connection.RedisConnection;

import static io.holdfast.faults.Fleet.SOON;
import static org.awaitility.Awaitility.await;

/** Trouble of a server that refuses writes. */
enum Trouble {

	FULL_MEMORY("OOM") {

		@Override
		void begin(RedisConnection connection) {
			connection.serverCommands().setConfig("maxmemory", "1");
		}

		@Override
		void end(RedisConnection connection) {
			connection.serverCommands().setConfig("maxmemory", "0");
		}

	},

	DEMOTED_MASTER("READONLY") {

		@Override
		void begin(RedisConnection connection) {
			connection.execute("REPLICAOF", "127.0.0.1".getBytes(), "1".getBytes());
		}

		@Override
		void end(RedisConnection connection) {
			connection.execute("REPLICAOF", "NO".getBytes(), "ONE".getBytes());
		}

	},

	MISSING_REPLICAS("NOREPLICAS") {

		@Override
		void begin(RedisConnection connection) {
			connection.serverCommands().setConfig("min-replicas-to-write", "1");
		}

		@Override
		void end(RedisConnection connection) {
			connection.serverCommands().setConfig("min-replicas-to-write", "0");
		}

	},

	/** A directory in place of the file. */
	FAILED_SAVE("MISCONF") {

		@Override
		void begin(RedisConnection connection) {
			try {
				Files.deleteIfExists(file(connection));
				Files.createFile(Files.createDirectory(file(connection)).resolve("in-the-way"));
			}
			catch (IOException ex) {
				throw new AssertionError(ex);
			}
			// Without this setting, a failed save is no reason to refuse writes.
			connection.serverCommands().setConfig("save", "3600 1");
			save(connection, "err");
		}

		@Override
		void end(RedisConnection connection) {
			try {
				Files.delete(file(connection).resolve("in-the-way"));
				Files.delete(file(connection));
			}
			catch (IOException ex) {
				throw new AssertionError(ex);
			}
			save(connection, "ok");
			connection.serverCommands().setConfig("save", "");
		}

		private Path file(RedisConnection connection) {
			return Path.of(String.valueOf(connection.serverCommands().getConfig("dir").get("dir")), "dump.rdb");
		}

		private void save(RedisConnection connection, String status) {
			connection.serverCommands().bgSave();
			await("a save").atMost(SOON)
				.until(() -> connection.serverCommands()
					.info("persistence")
					.getProperty("rdb_last_bgsave_status")
					.equals(status));
		}

	};

	/** Word in the answers of the server. */
	final String word;

	Trouble(String word) {
		this.word = word;
	}

	abstract void begin(RedisConnection connection);

	abstract void end(RedisConnection connection);

}
