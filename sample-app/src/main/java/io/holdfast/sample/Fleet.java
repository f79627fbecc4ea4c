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
 * All running instances, which make calls at once. The instance that is asked announces a
 * round of calls on a channel; Redis answers how many instances heard it, and the calls
 * are dealt out to them in equal shares. Each instance takes one share from a list, makes
 * its calls all at once, and puts what came of them into a list of results.
 */
@Component
class Fleet {

	private static final Log logger = LogFactory.getLog(Fleet.class);

	private static final String CHANNEL = "shop:rounds";

	/**
	 * More than the longest wait for a lock or permit, so that slow is not taken for
	 * dead.
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
	 * Have this instance take part in rounds of a kind; to be called before it has
	 * started.
	 * @param kind what the rounds are called
	 * @param call what to do for each call of such a round
	 */
	void takePart(String kind, Call call) {
		this.calls.put(kind, call);
	}

	/**
	 * Do something that must not be done twice at the same time, whichever instance does
	 * it.
	 * @param lock the key to lock until then
	 * @param refusal what to answer if that is locked already
	 * @param work what to do
	 * @param <T> the type of its result
	 * @return its result
	 * @throws ResponseStatusException with the refusal
	 * @throws io.holdfast.LeaseLostException if the lock was lost before the end, so that
	 * the result cannot be trusted
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
	 * Have all running instances make calls at once. Blocks until all are made.
	 * @param kind of which kind
	 * @param subject what the calls are about
	 * @param guarded whether they use the lock or semaphore
	 * @param count how many calls, over all instances
	 * @return what came of them
	 * @throws ResponseStatusException if not all instances reported
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
	 * Take a share of a round that some instance announced, perhaps this one.
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

	/** Waits in steps, because no command may last longer than the driver's timeout. */
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
	 * The action of an instance for one call of a round; many threads at once.
	 */
	@FunctionalInterface
	interface Call {

		/**
		 * Make the call.
		 * @param subject what it is about
		 * @param guarded whether to use the lock or semaphore
		 * @return what came of it
		 * @throws Exception if it failed
		 */
		Reply make(String subject, boolean guarded) throws Exception;

	}

	/**
	 * The result of a call that did not fail.
	 *
	 * @param success whether it got what it was made for
	 * @param served when its wait was over, by {@link System#nanoTime}
	 */
	record Reply(boolean success, long served) {
	}

	private record Made(boolean success, long waitMillis) {
	}

	/** A round of calls, as it is told to all instances. */
	private record Announcement(String id, String kind, String subject, boolean guarded) {

		String shares() {
			return CHANNEL + ":" + this.id + ":shares";
		}

		String results() {
			return CHANNEL + ":" + this.id + ":results";
		}

	}

}
