package io.holdfast.sample;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.sample.Outcome.Part;
import jakarta.annotation.PreDestroy;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.core.env.Environment;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.data.redis.annotation.RedisListener;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ResponseStatusException;

/**
 * All running instances, which make calls at the same time. An instance announces a round
 * of calls on a channel. Redis returns the number of instances that received the
 * announcement, and the calls are divided into equal shares. Each instance takes a share
 * from a list, makes its calls at the same time, and adds its results to another list.
 */
@Component
class Fleet {

	private static final Log logger = LogFactory.getLog(Fleet.class);

	private static final String CHANNEL = "shop:rounds";

	/**
	 * Maximum wait for an instance: longer than any wait for a lock or permit, so that a
	 * slow instance is not taken for dead.
	 */
	private static final Duration PATIENCE = Duration.ofSeconds(45);

	private static final Duration STEP = Duration.ofSeconds(1);

	private final LockService locks;

	private final StringRedisTemplate redis;

	private final JsonMapper json;

	private final Environment environment;

	private final Map<String, Call> calls = new ConcurrentHashMap<>();

	private final ExecutorService callers = Executors.newCachedThreadPool();

	Fleet(LockService locks, StringRedisTemplate redis, JsonMapper json, Environment environment) {
		this.locks = locks;
		this.redis = redis;
		this.json = json;
		this.environment = environment;
	}

	/**
	 * Take part in rounds of a kind. To be called before the start of this instance.
	 * @param kind the kind of rounds
	 * @param call the action for each call of such a round
	 */
	void takePart(String kind, Call call) {
		this.calls.put(kind, call);
	}

	/**
	 * Run work that must not run twice at the same time, at any instances.
	 * @param lock the key of the lock for the work
	 * @param refusal the answer if the lock is held
	 * @param work the work
	 * @param <T> the type of the result
	 * @return the result of the work
	 * @throws ResponseStatusException with the refusal
	 * @throws io.holdfast.LeaseLostException if the lock was lost before the end, so that
	 * the result is not reliable
	 */
	<T> T alone(String lock, String refusal, Supplier<T> work) {
		try (LockLease lease = this.locks.tryAcquire(lock)
			.orElseThrow(() -> new ResponseStatusException(HttpStatus.CONFLICT, refusal))) {
			T result = work.get();
			lease.ensureHeld();
			return result;
		}
	}

	/**
	 * Let all running instances make calls at the same time. Blocks until the end of all
	 * calls.
	 * @param kind the kind of the round
	 * @param subject the subject of the calls
	 * @param guarded whether the calls use the lock or semaphore
	 * @param count the number of calls of all instances together
	 * @return the outcome
	 * @throws ResponseStatusException if an instance did not report
	 */
	Outcome round(String kind, String subject, boolean guarded, int count) {
		Announcement round = new Announcement(UUID.randomUUID().toString(), kind, subject, guarded);
		long begun = System.nanoTime();
		Long heard = this.redis.convertAndSend(CHANNEL, this.json.writeValueAsString(round));
		if (heard == null || heard == 0) {
			throw new ResponseStatusException(HttpStatus.SERVICE_UNAVAILABLE,
					"No instance listens for a " + kind + " yet: try again");
		}
		int shares = heard.intValue();
		for (int i = 0; i < shares; i++) {
			int share = count / shares + ((i < count % shares) ? 1 : 0);
			push(round.shares(), Integer.toString(share));
		}
		List<Part> parts = new ArrayList<>();
		while (parts.size() < shares) {
			String part = pop(round.results());
			if (part == null) {
				throw new ResponseStatusException(HttpStatus.SERVICE_UNAVAILABLE, (shares - parts.size()) + " of "
						+ shares + " instances did not report their part of the " + kind + ". Were they stopped?");
			}
			parts.add(this.json.readValue(part, Part.class));
		}
		return Outcome.of(parts, millis(begun, System.nanoTime()));
	}

	/**
	 * Take a share of an announced round.
	 * @param announcement the announced round, as JSON
	 * @throws InterruptedException if this instance stops before the end
	 */
	@RedisListener(CHANNEL)
	void hear(String announcement) throws InterruptedException {
		Announcement round = this.json.readValue(announcement, Announcement.class);
		String share = pop(round.shares());
		if (share != null) {
			Part part = makeCalls(round, Integer.parseInt(share));
			push(round.results(), this.json.writeValueAsString(part));
		}
	}

	private Part makeCalls(Announcement round, int share) throws InterruptedException {
		List<Future<Made>> futures = this.callers.invokeAll(Collections.nCopies(share, () -> makeCall(round)));
		List<Made> made = new ArrayList<>();
		Throwable failure = null;
		for (Future<Made> future : futures) {
			try {
				made.add(future.get());
			}
			catch (ExecutionException ex) {
				failure = ex.getCause();
			}
		}
		int failed = share - made.size();
		if (failure != null) {
			logger.warn(
					failed + " calls of the " + round.kind() + " of " + round.subject() + " failed, the last one so:",
					failure);
		}
		int succeeded = (int) made.stream().filter(Made::success).count();
		return new Part(this.environment.getRequiredProperty("local.server.port"), share, succeeded, failed,
				made.stream().mapToLong(Made::waitMillis).toArray());
	}

	private Made makeCall(Announcement round) throws Exception {
		Call call = this.calls.get(round.kind());
		if (call == null) {
			throw new IllegalArgumentException("This instance does not take part in a " + round.kind());
		}
		long called = System.nanoTime();
		Reply reply = call.make(round.subject(), round.guarded());
		return new Made(reply.success(), millis(called, reply.served()));
	}

	private void push(String list, String element) {
		this.redis.opsForList().rightPush(list, element);
		this.redis.expire(list, PATIENCE.multipliedBy(2));
	}

	/**
	 * Wait for an element of a list. Waits in steps, because no command may last longer
	 * than the driver's timeout.
	 */
	private @Nullable String pop(String list) {
		long begun = System.nanoTime();
		String element = null;
		do {
			try {
				element = this.redis.opsForList().leftPop(list, STEP);
			}
			catch (QueryTimeoutException ex) {
				logger.info("This instance was frozen, so it asks again", ex);
			}
		}
		while (element == null && System.nanoTime() - begun < PATIENCE.toNanos());
		return element;
	}

	private static long millis(long begun, long ended) {
		return Duration.ofNanos(ended - begun).toMillis();
	}

	@PreDestroy
	void stop() {
		this.callers.shutdownNow();
	}

	/**
	 * Action of an instance for a call of a round. Called by many threads at the same
	 * time.
	 */
	@FunctionalInterface
	interface Call {

		/**
		 * Make the call.
		 * @param subject the subject of the call
		 * @param guarded whether to use the lock or semaphore
		 * @return the result
		 * @throws Exception if the call failed
		 */
		Reply make(String subject, boolean guarded) throws Exception;

	}

	/**
	 * Result of a call that did not fail.
	 *
	 * @param success whether the call was successful, such as a purchase of the last
	 * piece
	 * @param served the end of the wait, by {@link System#nanoTime}
	 */
	record Reply(boolean success, long served) {
	}

	private record Made(boolean success, long waitMillis) {
	}

	/** Round of calls, as announced to all instances. */
	private record Announcement(String id, String kind, String subject, boolean guarded) {

		String shares() {
			return CHANNEL + ":" + this.id + ":shares";
		}

		String results() {
			return CHANNEL + ":" + this.id + ":results";
		}

	}

}
