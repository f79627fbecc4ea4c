package io.holdfast.chaos;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.stream.Stream;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.holdfast.chaos.Fault.Kind;
import io.holdfast.engine.store.HandOverLimits;
import io.holdfast.history.Checker;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Type;
import io.holdfast.history.HistoryFile;
import io.holdfast.testing.FaultProxy;
import org.slf4j.LoggerFactory;

import org.springframework.util.FileSystemUtils;

/**
 * A round of instances under the faults of a seed, then for a while without faults; the
 * history is judged at the end. A seed determines the faults and their times, but not
 * their effects, since the instances are processes.
 */
final class Round {

	private static final int INSTANCES = 3;

	/**
	 * Longest delay of the end of a wait, on a busy machine and behind a slow observer;
	 * and of a user's knowledge.
	 */
	private static final Duration SLACK = Duration.ofSeconds(2).plus(ChaosMain.SLOWNESS);

	private static final Duration HANDOFF = Duration.ofSeconds(2);

	private static final Duration POLL = HANDOFF.plusSeconds(1);

	/** Longer than the longest wait for a free resource. */
	private static final Duration PEACE = Wish.LONGEST_LEASE.plus(SLACK).plus(POLL).plusSeconds(2);

	private static final Set<Kind> OF_INSTANCES = EnumSet.range(Kind.KILL, Kind.SLOW_OBSERVER);

	private static final List<String> PROPERTIES = List.of("holdfast.redis.fail-over-grace=true",
			"holdfast.redis.longest-lease=" + Wish.LONGEST_LEASE.toMillis() + "ms", "holdfast.lock.lease-time=3s",
			"holdfast.semaphore.lease-time=3s", "holdfast.wake-up.handoff-timeout=" + HANDOFF.toMillis() + "ms",
			"holdfast.lock.local-hand-over.max-time=200ms", "holdfast.semaphore.local-hand-over.max-time=200ms",
			"logging.level.root=ERROR");

	/** Local hand-overs in a row: all, some, none. */
	private static final List<Integer> PASSES = List.of(HandOverLimits.STRIDE - 1, 4, 0);

	private static final String KEY_PREFIX = "chaos:";

	private final long seed;

	private final Duration time;

	private final Path directory;

	/** Events of this process. */
	private final Collection<Event> seen = new ConcurrentLinkedQueue<>();

	/** Events that concern all instances. */
	private final Collection<Event> everybody = new ConcurrentLinkedQueue<>();

	private final Collection<Fault> faults = new ConcurrentLinkedQueue<>();

	private final Collection<Throwable> failures = new ConcurrentLinkedQueue<>();

	/**
	 * Create a round.
	 * @param seed the start of chance
	 * @param time the duration of the faults
	 */
	Round(long seed, Duration time) {
		this.seed = seed;
		this.time = time;
		try {
			this.directory = Files.createTempDirectory("holdfast-chaos");
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/** Return the local hand-overs in a row, in the round of a seed. */
	static int passes(long seed) {
		return PASSES.get(Math.floorMod(seed / 2, 3));
	}

	/**
	 * Run the round. Blocks.
	 * @param servers the Redis servers, for this round only
	 * @param figures the totals to add to
	 * @return the violations; with any, the history is kept in {@code target/chaos}
	 */
	List<String> run(Servers servers, Figures figures) throws Exception {
		int passes = passes(this.seed);
		Stream<String> handOver = Stream.of("lock", "semaphore")
			.map((kind) -> "holdfast." + kind + ".local-hand-over.max-count=" + passes);
		List<String> properties = Stream.of(servers.properties().stream(), PROPERTIES.stream(), handOver)
			.flatMap(Function.identity())
			.toList();
		List<Place> places = new ArrayList<>();
		Logger root = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
		Level level = root.getLevel();
		try (Operator operator = new Operator(servers, KEY_PREFIX, properties, this.seen::add, this.everybody::add);
				Stalls stalls = new Stalls(operator::look, this::stalled)) {
			stalls.start();
			Random random = new Random(this.seed);
			for (int i = 0; i < INSTANCES; i++) {
				places
					.add(new Place(this.directory, i, random.nextLong(), FaultProxy.to(servers.host(), servers.port()),
							Stream.concat(Stream.of(KEY_PREFIX), properties.stream()).toList(), this.seen::add));
			}
			places.forEach(Place::awaitReady);
			rollFaults(Fault.plan(random, servers.faults(), this.time, INSTANCES), places, operator);
			operator.clearLimits();
			this.seen.add(Event.of(System.nanoTime(), Type.FAULTS_OVER, ""));
			TimeUnit.NANOSECONDS.sleep(lastTrouble() - System.nanoTime());
			TimeUnit.NANOSECONDS.sleep(PEACE.toNanos());
			places.forEach((place) -> place.tell("end"));
			places.forEach(Place::awaitEnded);
			// Leases of killed instances end by themselves.
			TimeUnit.NANOSECONDS.sleep(Wish.LONGEST_LEASE.toNanos());
			this.seen.add(Event.of(System.nanoTime(), Type.QUIET, ""));
			operator.writeStoredEntries();
			return judge(places, figures);
		}
		finally {
			places.forEach(Place::close);
			// The operator's application has set the level for all of this JVM.
			root.setLevel(level);
			FileSystemUtils.deleteRecursively(this.directory);
		}
	}

	private void stalled(long from, long until) {
		this.everybody.add(Event.of(from, Type.TROUBLE, "").until(until));
	}

	private long lastTrouble() {
		return Stream.concat(this.seen.stream(), this.everybody.stream())
			.filter((event) -> event.type() == Type.TROUBLE)
			.mapToLong(Event::until)
			.max()
			.orElse(System.nanoTime());
	}

	private void rollFaults(List<Fault> plan, List<Place> places, Operator operator) throws InterruptedException {
		ExecutorService threads = Executors.newCachedThreadPool();
		try {
			long begin = System.nanoTime();
			for (Fault fault : plan) {
				TimeUnit.NANOSECONDS.sleep(begin + TimeUnit.MILLISECONDS.toNanos(fault.atMillis()) - System.nanoTime());
				threads.execute(() -> fail(fault, places.get(fault.instance()), operator));
			}
		}
		finally {
			threads.shutdown();
		}
		if (!threads.awaitTermination(5, TimeUnit.MINUTES)) {
			throw new AssertionError("A fault does not end: " + this.faults);
		}
	}

	private void fail(Fault fault, Place place, Operator operator) {
		boolean ofInstance = OF_INSTANCES.contains(fault.kind());
		ReentrantLock busy = ofInstance ? place.busy : operator.busy;
		if (!busy.tryLock()) {
			return;
		}
		this.faults.add(fault);
		try {
			if (ofInstance) {
				place.fail(fault);
			}
			else {
				operator.fail(fault);
			}
		}
		catch (Throwable ex) {
			this.failures.add(ex);
		}
		finally {
			busy.unlock();
		}
	}

	private List<String> judge(List<Place> places, Figures figures) throws IOException {
		List<Event> history = new ArrayList<>(this.seen);
		for (Place place : places) {
			place.files().forEach((file) -> history.addAll(HistoryFile.read(file)));
			for (String name : place.names) {
				this.everybody.forEach((event) -> history.add(of(event, name)));
			}
		}
		List<String> violations = new ArrayList<>(Checker.check(history, SLACK.toNanos(), POLL.toNanos()));
		this.failures.forEach((failure) -> violations.add("failed: " + failure));
		figures.add(history, this.faults, violations.size());
		if (!violations.isEmpty()) {
			Path file = Path.of("target", "chaos", "seed-" + this.seed + ".txt");
			Files.createDirectories(file.getParent());
			Files.write(file,
					history.stream()
						.sorted((left, right) -> Long.compare(left.at(), right.at()))
						.map(Event::toString)
						.toList());
		}
		return violations;
	}

	private static Event of(Event event, String name) {
		return Event.of(event.at(), event.type(), name).until(event.until());
	}

}
