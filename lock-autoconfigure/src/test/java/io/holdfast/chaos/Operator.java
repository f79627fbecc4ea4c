package io.holdfast.chaos;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockService;
import io.holdfast.LockStatus;
import io.holdfast.SemaphoreService;
import io.holdfast.SemaphoreStatus;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Mode;
import io.holdfast.history.Event.Type;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.TestApplication;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

import static org.awaitility.Awaitility.await;

/**
 * Operations on the server and faults that concern all instances.
 */
final class Operator implements AutoCloseable {

	/** Longer than the first answer of Redis takes after a restart or a freeze. */
	private static final long GRACE = Wish.LONGEST_LEASE.toNanos() + Place.RECOVERY;

	/** Longest time until an instance reopens its connection to a former master. */
	private static final long REOPENING = TimeUnit.SECONDS.toNanos(8);

	private final Servers servers;

	private final String keyPrefix;

	private final Consumer<Event> history;

	/** Receiver of the events that concern all instances. */
	private final Consumer<Event> everybody;

	private final ConfigurableApplicationContext context;

	private final LockService locks;

	private final SemaphoreService semaphores;

	private final StringRedisTemplate template;

	/** Allows one fault at a time. */
	final ReentrantLock busy = new ReentrantLock();

	private long graceUntil;

	Operator(Servers servers, String keyPrefix, List<String> properties, Consumer<Event> history,
			Consumer<Event> everybody) {
		this.servers = servers;
		this.keyPrefix = keyPrefix;
		this.history = history;
		this.everybody = everybody;
		this.context = TestApplication.start(servers.host(), servers.port(), keyPrefix, properties);
		this.locks = this.context.getBean(LockService.class);
		this.semaphores = this.context.getBean(SemaphoreService.class);
		this.template = this.context.getBean(StringRedisTemplate.class);
		failedOver(System.nanoTime());
	}

	/** The first request to this server has to wait. */
	private void failedOver(long from) {
		this.graceUntil = System.nanoTime() + GRACE;
		this.history.accept(Event.of(from, Type.FAILED_OVER, "").until(this.graceUntil));
	}

	/** Send a trivial command to the server. */
	void look() {
		try {
			execute("PING");
		}
		catch (DataAccessException | IllegalStateException ex) {
			// The server or this connection is down.
		}
	}

	void fail(Fault fault) throws InterruptedException {
		try {
			attempt(fault);
		}
		catch (LeaseStoreException | DataAccessException ex) {
			// Another fault met this connection. The events before the command stand,
			// since it may have run.
		}
	}

	private void attempt(Fault fault) throws InterruptedException {
		long from = System.nanoTime();
		switch (fault.kind()) {
			case KILL_SUBSCRIPTIONS -> execute("CLIENT", "KILL", "TYPE", "pubsub");
			case KILL_CONNECTIONS -> {
				troubleSince(from, 0);
				execute("CLIENT", "KILL", "TYPE", "normal");
			}
			case FLUSH_SCRIPTS -> execute("SCRIPT", "FLUSH");
			case FREEZE_SERVER -> {
				RedisServer server = this.servers.master();
				server.freeze();
				long frozen = System.nanoTime();
				TimeUnit.MILLISECONDS.sleep(fault.millis());
				this.everybody.accept(Event.of(frozen, Type.OUTAGE, "").until(System.nanoTime()));
				server.thaw();
				troubleSince(from, System.nanoTime() - from);
			}
			case FULL_MEMORY -> {
				execute("CONFIG", "SET", "maxmemory", "1");
				TimeUnit.MILLISECONDS.sleep(fault.millis());
				insist(() -> execute("CONFIG", "SET", "maxmemory", "0"));
				troubleSince(from, System.nanoTime() - from);
			}
			case KILL_SERVER -> {
				this.servers.killMaster();
				troubleSince(from, System.nanoTime() - from);
				failedOver(from);
				clearLimits();
			}
			case FAIL_OVER -> {
				this.servers.failOver();
				troubleSince(from, System.nanoTime() - from);
				failedOver(from);
				clearLimits();
			}
			case DEMOTE -> {
				this.servers.demoteMaster();
				connectToMaster();
				// Until the last connection was opened again, if an outage was recent.
				troubleSince(from, REOPENING);
				failedOver(from);
				clearLimits();
			}
			case DELETE -> {
				if (from < this.graceUntil) {
					// Holders would restore their entries.
					return;
				}
				boolean lock = fault.chance() % 2 == 0;
				String key = any(lock ? Wish.LOCKS : Wish.SEMAPHORES, fault);
				around(Event.of(from, Type.DATA_LOST, "").of(lock ? Mode.EXCLUSIVE : Mode.PERMITS, key),
						() -> this.template.delete(lock ? this.keyPrefix + key : semaphoreKey(key) + ":holders"));
			}
			case FORCE -> {
				if (from < this.graceUntil) {
					return;
				}
				boolean lock = fault.chance() % 2 == 0;
				String key = any(lock ? Wish.LOCKS : Wish.SEMAPHORES, fault);
				around(Event.of(from, Type.FORCED, "").of(lock ? Mode.EXCLUSIVE : Mode.PERMITS, key),
						() -> force(lock, key));
			}
			case LIMIT -> {
				String key = any(Wish.SEMAPHORES, fault);
				int limit = (fault.chance() % 3 == 0) ? -1 : 1 + fault.chance() % 7;
				setLimit(key, limit);
			}
			default -> throw new IllegalArgumentException("not of the server: " + fault);
		}
	}

	/** Spring's own connection stays at the former master, also after a reset. */
	private void connectToMaster() {
		LettuceConnectionFactory connections = (LettuceConnectionFactory) this.template.getRequiredConnectionFactory();
		insist(() -> {
			connections.stop();
			connections.start();
			String role = this.template.execute((RedisCallback<String>) (
					connection) -> connection.serverCommands().info("replication").getProperty("role"));
			if (!"master".equals(role)) {
				throw new LeaseStoreException("*", "The operator is not connected to the master", null);
			}
		});
	}

	private void execute(String... words) {
		this.template.execute((RedisCallback<Object>) (connection) -> raw(connection, words));
	}

	private static Object raw(RedisConnection connection, String... words) {
		byte[][] arguments = new byte[words.length - 1][];
		for (int i = 1; i < words.length; i++) {
			arguments[i - 1] = words[i].getBytes(StandardCharsets.UTF_8);
		}
		return String.valueOf(connection.execute(words[0], arguments));
	}

	private void troubleSince(long from, long lasted) {
		this.everybody.accept(Event.of(from, Type.TROUBLE, "").until(System.nanoTime() + lasted + Place.RECOVERY));
	}

	private static String any(List<String> keys, Fault fault) {
		return keys.get(fault.chance() / 2 % keys.size());
	}

	private String semaphoreKey(String key) {
		return "{" + TestApplication.semaphorePrefix(this.keyPrefix) + key + "}";
	}

	private void around(Event event, Runnable change) {
		try {
			change.run();
		}
		finally {
			this.history.accept(event.until(System.nanoTime()));
		}
	}

	private void force(boolean lock, String key) {
		if (lock) {
			this.locks.admin().forceRelease(key);
		}
		else {
			this.semaphores.admin().forceRelease(key);
		}
	}

	private void setLimit(String key, int limit) {
		long from = System.nanoTime();
		try {
			if (limit < 0) {
				this.semaphores.admin().clearLimit(key);
			}
			else {
				this.semaphores.admin().setLimit(key, limit);
			}
		}
		finally {
			limit(from, key, limit);
		}
	}

	private void limit(long from, String key, int limit) {
		this.history
			.accept(Event.of(from, Type.LIMIT, "").of(Mode.PERMITS, key).permits(0, limit).until(System.nanoTime()));
	}

	/** Make limits known again: earlier changes may be lost or not. */
	void clearLimits() {
		for (String key : Wish.SEMAPHORES) {
			// Any attempt may have cleared the limit, or only the last.
			long from = System.nanoTime();
			insist(() -> this.semaphores.admin().clearLimit(key));
			limit(from, key, -1);
		}
	}

	/** Repeat an action that fails while the operator's own connection is down. */
	private static void insist(Runnable action) {
		await().atMost(Duration.ofSeconds(30))
			.pollInterval(Duration.ofMillis(100))
			.ignoreExceptionsMatching((ex) -> ex instanceof LeaseStoreException || ex instanceof DataAccessException)
			.until(() -> {
				action.run();
				return true;
			});
	}

	/** Write the stored entries to the history. */
	void writeStoredEntries() {
		long now = System.nanoTime();
		for (String key : Wish.LOCKS) {
			LockStatus status = this.locks.status(key);
			Event stored = Event.of(now, Type.STORED, "").of(Mode.EXCLUSIVE, key);
			this.history.accept(stored.why("HELD").permits(status.isLocked() ? 1 : 0, 0));
			this.history.accept(stored.why("WAITING").permits(status.waiting(), 0));
		}
		for (String key : Wish.SEMAPHORES) {
			SemaphoreStatus status = this.semaphores.status(key);
			Event stored = Event.of(now, Type.STORED, "").of(Mode.PERMITS, key);
			this.history.accept(stored.why("HELD").permits(status.used(), 0));
			this.history.accept(stored.why("WAITING").permits(status.waiting(), 0));
		}
		for (String key : this.template.keys("*")) {
			if (!key.startsWith(TestApplication.fleetKey(this.keyPrefix))
					&& Long.valueOf(-1).equals(this.template.getExpire(key))) {
				this.history.accept(Event.of(now, Type.STORED, "").of(Mode.NONE, key).until(-1).why("KEY"));
			}
		}
	}

	@Override
	public void close() {
		this.context.close();
	}

}
