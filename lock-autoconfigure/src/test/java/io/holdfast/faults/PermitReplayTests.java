package io.holdfast.faults;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.ReleaseResult;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.data.redis.connection.ReturnType;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.script.RedisScript;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Copies of commands about permits arrive long after the command itself, when others hold
 * and wait.
 */
@WithRedis
class PermitReplayTests {

	private static final String KEY = "replay";

	@SuppressWarnings("rawtypes")
	private static final RedisScript<List> SLOW_LOG = RedisScript.of("""
			local scripts = {}
			for _, entry in ipairs(redis.call('SLOWLOG', 'GET', -1)) do
			  if string.upper(entry[4][1]) == 'EVALSHA' then
			    table.insert(scripts, entry[4])
			  end
			end
			return scripts
			""", List.class);

	private final Fleet fleet;

	PermitReplayTests(TestRedis redis) {
		this.fleet = Fleet.on(redis, redis.startServer("--slowlog-log-slower-than", "0", "--slowlog-max-len", "1000"));
	}

	private static PoolRequest request(Pool pool) {
		return new PoolRequest(pool, KEY).waitTime(SOON);
	}

	@Test
	@DisplayName("F43 whatever ended or renewed tokens that are over comes once more, in any order: no change")
	void lateCopies() {
		// So that no waiter asks again in between, which would be written down.
		Instance instance = this.fleet.start("holdfast.wake-up.handoff-timeout=60s");
		Instance other = this.fleet.start("holdfast.wake-up.handoff-timeout=60s");
		for (Pool pool : Pool.values()) {
			useUp(pool, instance, other);
		}
		useUpByDowngrade(instance);
		List<List<String>> over = commandsBesidesAcquire();
		// At least two releases and a renewal by each pool, a downgrade.
		assertThat(over).hasSizeGreaterThanOrEqualTo(8);
		List<Lease> held = new ArrayList<>();
		List<CompletableFuture<Lease>> queued = new ArrayList<>();
		for (Pool pool : Pool.values()) {
			held.add(request(pool).acquire(instance));
			queued.add(request(pool).all().acquireInBackground(other));
			pool.awaitQueued(this.fleet, KEY, 1);
		}
		Map<String, String> before = dump();
		for (int i = 0; i < 3; i++) {
			Collections.shuffle(over, new Random(i));
			over.forEach(this::run);
			assertThat(dump()).isEqualTo(before);
		}
		held.forEach((lease) -> assertThat(lease.release()).isEqualTo(ReleaseResult.RELEASED));
		queued.forEach((lease) -> assertThat(lease).succeedsWithin(SOON).satisfies(Lease::release));
		for (Pool pool : Pool.values()) {
			pool.assertAllFree(this.fleet, KEY, instance, other);
		}
	}

	private void useUp(Pool pool, Instance instance, Instance other) {
		Lease lease = request(pool).acquire(instance);
		lease.extend(Duration.ofMinutes(2));
		CompletableFuture<Lease> waiting = request(pool).all().acquireInBackground(other);
		CompletableFuture<? extends Lease> cancelled = request(pool).all().acquireAsync(instance);
		pool.awaitQueued(this.fleet, KEY, 2);
		cancelled.cancel(false);
		pool.awaitQueued(this.fleet, KEY, 1);
		lease.release();
		waiting.join().release();
	}

	private static void useUpByDowngrade(Instance instance) {
		LockRequest write = LockRequest.of(KEY).mode(LockMode.EXCLUSIVE);
		Lease writer = instance.acquire(write);
		Lease reader = instance.acquire(write.mode(LockMode.READ));
		writer.release();
		reader.release();
	}

	/**
	 * The scripts that clients have run, with all that they were given. Not those that
	 * acquire: a late copy of one may hold until its lease ends.
	 */
	private List<List<String>> commandsBesidesAcquire() {
		List<List<String>> commands = new ArrayList<>();
		for (Object command : this.fleet.observer().execute(SLOW_LOG, List.of())) {
			List<String> words = ((List<?>) command).stream().map(String::valueOf).toList();
			// Only they say how they wait, or that they do not: of a lock at the end, of
			// permits before the limit and whether they are fair.
			boolean acquire = words.get(words.size() - 1).matches("[sp]?")
					|| words.get(words.size() - 3).matches("[sp]?");
			if (!acquire && words.stream().anyMatch((word) -> word.contains(KEY))) {
				commands.add(words);
			}
		}
		return commands;
	}

	private void run(List<String> evalsha) {
		byte[][] words = evalsha.stream().map((word) -> word.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
		RedisCallback<Object> run = (connection) -> connection.scriptingCommands()
			.evalSha(evalsha.get(1), ReturnType.MULTI, Integer.parseInt(evalsha.get(2)),
					Arrays.copyOfRange(words, 3, words.length));
		assertThat(this.fleet.observer().execute(run)).as("answer to %s", evalsha).isNotNull();
	}

	/**
	 * All that is stored, as it is stored. Not since when the first waiter is seen, which
	 * is noted by the next script that finds it missing.
	 */
	private Map<String, String> dump() {
		Map<String, String> dump = new TreeMap<>();
		for (String key : this.fleet.observer().keys("*" + KEY + "*")) {
			if (!key.endsWith(":seen")) {
				dump.put(key, Arrays.toString(this.fleet.observer().dump(key)));
			}
		}
		return dump;
	}

}
