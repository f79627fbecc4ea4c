package io.holdfast.benchmark;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import io.holdfast.benchmark.Contender.Held;

import org.springframework.util.Assert;

/**
 * Main class of a child JVM: one instance of a contender, which does what the lines say
 * that {@link Workers} sends, and says when it has.
 */
final class WorkerMain {

	private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

	private static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory
		.getOperatingSystemMXBean();

	/** How many turns are told with their times, of all threads together. */
	private static final int CAPACITY = 1_000_000;

	private final Contender contender;

	/** Locks may have to be released by the thread that has acquired them. */
	private final ExecutorService holder = Executors.newSingleThreadExecutor();

	private final Deque<Held> held = new ConcurrentLinkedDeque<>();

	private WorkerMain(Contender contender) {
		this.contender = contender;
	}

	public static void main(String[] args) throws Exception {
		RedisAddress redis = RedisAddress.parse(args[1]);
		Contender contender = ContenderType.valueOf(args[0]).open(redis, Duration.parse(args[2]));
		say("ready");
		WorkerMain worker = new WorkerMain(contender);
		BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
		for (String line = lines.readLine(); line != null; line = lines.readLine()) {
			worker.obey(line.split(" "));
		}
		System.exit(0);
	}

	private void obey(String[] words) {
		switch (words[0]) {
			case "cycle" -> inBackground(() -> cycle(words));
			case "wait" -> inBackground(() -> await(words));
			case "queue" -> inBackground(() -> queue(words));
			case "hold" -> this.holder.execute(() -> hold(words[1], Integer.parseInt(words[2])));
			case "release" -> this.holder.execute(this::release);
			case "exit" -> System.exit(0);
			case "usage" -> say("usage " + SYSTEM.getProcessCpuTime());
			default -> say("failed: unknown " + words[0]);
		}
	}

	private static void inBackground(Task task) {
		new Thread(() -> {
			try {
				task.run();
			}
			catch (Exception | Error ex) {
				say("failed: " + ex);
			}
		}).start();
	}

	/**
	 * Take turns until the time is over: key, threads, keys of each thread or 0 for one
	 * that all want, when times begin to be noted and when all is over, how long to hold
	 * what is acquired before, file of the outcome.
	 */
	private void cycle(String[] words) throws InterruptedException {
		String key = words[1];
		int threads = Integer.parseInt(words[2]);
		int keys = Integer.parseInt(words[3]);
		long from = Long.parseLong(words[4]);
		long to = Long.parseLong(words[5]);
		long pause = Long.parseLong(words[6]);
		// Made first, as it would be counted otherwise.
		String[][] names = new String[threads][Math.max(keys, 1)];
		for (int thread = 0; thread < threads; thread++) {
			for (int i = 0; i < names[thread].length; i++) {
				names[thread][i] = (keys == 0) ? key : key + ":" + thread + ":" + i;
			}
		}
		run(threads, CAPACITY / threads, (thread, turns) -> {
			String[] own = names[thread];
			Body body = new Body(from, pause);
			long asked = System.nanoTime();
			for (int i = 0; asked - to < 0; i = (i + 1) % own.length) {
				this.contender.run(own[i], body);
				long released = System.nanoTime();
				Assert.state(body.acquired - asked >= 0, "not free");
				turns.count();
				if (pause > 0 || body.acquired - from >= 0) {
					turns.add(asked, body.acquired, body.releasing, released);
				}
				asked = released;
			}
		}).write(Path.of(words[7]));
		say("done");
	}

	/**
	 * Take one turn in each thread: key, threads, file of the outcome. A thread that ends
	 * costs more than its turn; so they do when all have had theirs.
	 */
	private void await(String[] words) throws InterruptedException {
		int threads = Integer.parseInt(words[2]);
		CountDownLatch left = new CountDownLatch(threads);
		run(threads, 1, (thread, turns) -> {
			try {
				long asked = System.nanoTime();
				Held lease = this.contender.acquire(words[1]);
				long acquired = System.nanoTime();
				lease.release();
				turns.count();
				turns.add(asked, acquired, acquired, System.nanoTime());
			}
			finally {
				left.countDown();
			}
			left.await();
		}).write(Path.of(words[3]));
		say("done");
	}

	/**
	 * Take many turns, all asked for at once, without a thread for each: key, turns, file
	 * of the outcome.
	 */
	private void queue(String[] words) throws InterruptedException {
		int count = Integer.parseInt(words[2]);
		run(1, count, (thread, turns) -> {
			CompletableFuture<?>[] ended = new CompletableFuture<?>[count];
			for (int i = 0; i < count; i++) {
				long asked = System.nanoTime();
				ended[i] = this.contender.acquireAsync(words[1]).thenAccept((lease) -> {
					long acquired = System.nanoTime();
					lease.release();
					synchronized (turns) {
						turns.count();
						turns.add(asked, acquired, acquired, System.nanoTime());
					}
				});
			}
			CompletableFuture.allOf(ended).get();
		}).write(Path.of(words[3]));
		say("done");
	}

	private Outcome run(int threads, int capacity, Work work) throws InterruptedException {
		List<Thread> running = new ArrayList<>();
		List<Turns> turns = new ArrayList<>();
		long[] allocated = new long[threads];
		long before = allocated();
		for (int i = 0; i < threads; i++) {
			Turns own = new Turns(capacity);
			turns.add(own);
			int index = i;
			Thread thread = new Thread(() -> {
				long begun = THREADS.getCurrentThreadAllocatedBytes();
				try {
					work.run(index, own);
				}
				catch (Exception | Error ex) {
					say("failed: " + ex);
				}
				allocated[index] = THREADS.getCurrentThreadAllocatedBytes() - begun;
			});
			running.add(thread);
		}
		long cpu = SYSTEM.getProcessCpuTime();
		running.forEach(Thread::start);
		for (Thread thread : running) {
			thread.join();
		}
		long callers = 0;
		for (long bytes : allocated) {
			callers += bytes;
		}
		return new Outcome(turns, callers, callers + allocated() - before, SYSTEM.getProcessCpuTime() - cpu);
	}

	/** By all threads that live. */
	private static long allocated() {
		long sum = 0;
		long current = Thread.currentThread().getId();
		long[] ids = THREADS.getAllThreadIds();
		long[] bytes = THREADS.getThreadAllocatedBytes(ids);
		for (int i = 0; i < ids.length; i++) {
			// Not what this one needs to measure.
			sum += (ids[i] != current) ? Math.max(bytes[i], 0) : 0;
		}
		return sum;
	}

	/** Acquire a key's numbered ones, and keep them; those that are held count. */
	private void hold(String key, int count) {
		try {
			for (int i = this.held.size(); i < count; i++) {
				this.held.add(this.contender.acquire((count == 1) ? key : key + ":" + i));
			}
			say("held");
		}
		catch (Exception | Error ex) {
			say("failed: " + ex);
		}
	}

	private void release() {
		long begun = System.nanoTime();
		for (Held lease = this.held.poll(); lease != null; lease = this.held.poll()) {
			lease.release();
		}
		say("released " + begun);
	}

	private static void say(String line) {
		synchronized (System.out) {
			System.out.println(line);
			System.out.flush();
		}
	}

	/**
	 * Notes when it was run. Of one thread.
	 */
	private static final class Body implements Runnable {

		private final long pauseUntil;

		private final long pauseNanos;

		/** At first a time before the first turn. */
		private long acquired = System.nanoTime() - 1;

		private long releasing;

		Body(long pauseUntil, long pauseNanos) {
			this.pauseUntil = pauseUntil;
			this.pauseNanos = pauseNanos;
		}

		@Override
		public void run() {
			this.acquired = System.nanoTime();
			if (this.pauseNanos > 0 && this.acquired - this.pauseUntil < 0) {
				LockSupport.parkNanos(this.pauseNanos);
			}
			this.releasing = System.nanoTime();
		}

	}

	/**
	 * What a line asks for.
	 */
	private interface Task {

		void run() throws Exception;

	}

	/**
	 * What each of several threads does.
	 */
	private interface Work {

		void run(int thread, Turns turns) throws Exception;

	}

}
