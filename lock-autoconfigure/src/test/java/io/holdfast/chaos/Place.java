package io.holdfast.chaos;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.holdfast.history.Event;
import io.holdfast.history.Event.Type;
import io.holdfast.testing.ChildJvm;
import io.holdfast.testing.FaultProxy;
import org.awaitility.core.ConditionTimeoutException;

import static org.awaitility.Awaitility.await;

/**
 * Place of an instance and its successors, all behind the same proxy.
 */
final class Place implements AutoCloseable {

	private static final Duration PATIENCE = Duration.ofSeconds(120);

	/** Time to notice that a connection is back, besides the wait for the connection. */
	static final long RECOVERY = TimeUnit.SECONDS.toNanos(2);

	private final Path directory;

	private final int number;

	private final Random random;

	private final List<String> arguments;

	private final Consumer<Event> history;

	private final FaultProxy proxy;

	/** Allows one fault at a time. */
	final ReentrantLock busy = new ReentrantLock();

	private final List<Path> files = new ArrayList<>();

	/** Of all instances so far. */
	final List<String> names = new ArrayList<>();

	private ChildJvm instance;

	Place(Path directory, int number, long seed, FaultProxy proxy, List<String> arguments, Consumer<Event> history) {
		this.directory = directory;
		this.number = number;
		this.random = new Random(seed);
		this.proxy = proxy;
		this.arguments = arguments;
		this.history = history;
		this.instance = start();
	}

	private ChildJvm start() {
		String name = "i" + this.number + "-" + this.names.size();
		Path file = this.directory.resolve(name + ".txt");
		this.names.add(name);
		this.files.add(file);
		Stream<String> own = Stream.of(file.toString(), name, Long.toString(this.random.nextLong()), "5",
				this.proxy.host(), Integer.toString(this.proxy.port()));
		return ChildJvm.start(ChaosMain.class, Stream.concat(own, this.arguments.stream()).toArray(String[]::new));
	}

	Place awaitReady() {
		this.instance.awaitLine("ready", PATIENCE);
		return this;
	}

	private String name() {
		return this.names.get(this.names.size() - 1);
	}

	/** Return all events of its instances. */
	List<Path> files() {
		return this.files;
	}

	void fail(Fault fault) throws InterruptedException {
		long from = System.nanoTime();
		switch (fault.kind()) {
			case KILL -> {
				this.history.accept(Event.of(from, Type.CRASHED, name()));
				this.instance.kill();
				this.instance = start();
				awaitReady();
			}
			case SHUT_DOWN -> {
				tell("shut-down");
				awaitEnded();
				this.instance = start();
				awaitReady();
			}
			case FREEZE -> {
				this.instance.freeze();
				TimeUnit.MILLISECONDS.sleep(fault.millis());
				this.instance.thaw();
				this.history.accept(Event.of(from, Type.PAUSED, name()).until(System.nanoTime()));
			}
			case BLACK_HOLE -> {
				this.proxy.blackHole();
				silence(fault.millis());
				this.proxy.pass();
				trouble(from);
			}
			case DOWN -> {
				this.proxy.down();
				silence(fault.millis());
				this.proxy.up();
				trouble(from);
			}
			case DELAY -> {
				this.proxy.delay(Duration.ofMillis(fault.chance() / 2));
				TimeUnit.MILLISECONDS.sleep(fault.millis());
				this.proxy.pass();
				trouble(from);
			}
			case LOST_REPLY -> {
				int before = this.proxy.cuts();
				this.proxy.swallowRepliesThenFin("EVALSHA");
				awaitCut(before);
				trouble(from);
			}
			case RESET -> {
				int before = this.proxy.cuts();
				this.proxy.swallowRepliesThenReset("EVALSHA");
				awaitCut(before);
				trouble(from);
			}
			case SLOW_OBSERVER -> {
				tell(ChaosMain.OBSERVE_SLOWLY + fault.millis());
				TimeUnit.MILLISECONDS.sleep(fault.millis());
			}
			default -> throw new IllegalArgumentException("not of an instance: " + fault);
		}
	}

	private void silence(int millis) throws InterruptedException {
		long from = System.nanoTime();
		TimeUnit.MILLISECONDS.sleep(millis);
		this.history.accept(Event.of(from, Type.OUTAGE, name()).until(System.nanoTime()));
	}

	/**
	 * A client repeats its attempts at intervals as long as the time of its attempts so
	 * far.
	 */
	private void trouble(long from) {
		long until = System.nanoTime();
		this.history.accept(Event.of(from, Type.TROUBLE, name()).until(until + (until - from) + RECOVERY));
	}

	/** Soon, unless no request is sent. */
	private void awaitCut(int before) {
		try {
			await("a connection cut").atMost(Duration.ofSeconds(2)).until(() -> this.proxy.cuts() > before);
		}
		catch (ConditionTimeoutException ex) {
			this.proxy.pass();
		}
	}

	void tell(String what) {
		this.instance.send(what);
	}

	void awaitEnded() {
		this.instance.awaitLine("ended", PATIENCE);
	}

	@Override
	public void close() {
		this.instance.close();
		this.proxy.close();
	}

}
