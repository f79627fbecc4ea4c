package io.holdfast.benchmark;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/**
 * When one thread had its turns, by {@link System#nanoTime()}, which all processes of a
 * machine share on Linux. Not thread-safe.
 */
final class Turns {

	private static final int TIMES = 4;

	private final long[] times;

	private int count;

	/** Turns had in all, also those without times. */
	private long total;

	/**
	 * Make room first, so that nothing is allocated for it while the clock runs.
	 * @param capacity how many turns are told with their times; later ones only count
	 */
	Turns(int capacity) {
		this.times = new long[capacity * TIMES];
	}

	private Turns(long[] times, long total) {
		this.times = times;
		this.count = times.length / TIMES;
		this.total = total;
	}

	void count() {
		this.total++;
	}

	void add(long asked, long acquired, long releasing, long released) {
		int i = this.count * TIMES;
		if (i < this.times.length) {
			this.times[i] = asked;
			this.times[i + 1] = acquired;
			this.times[i + 2] = releasing;
			this.times[i + 3] = released;
			this.count++;
		}
	}

	int size() {
		return this.count;
	}

	long total() {
		return this.total;
	}

	long asked(int turn) {
		return this.times[turn * TIMES];
	}

	long acquired(int turn) {
		return this.times[turn * TIMES + 1];
	}

	/** Right before it began to release: until then it was its turn for certain. */
	long releasing(int turn) {
		return this.times[turn * TIMES + 2];
	}

	long released(int turn) {
		return this.times[turn * TIMES + 3];
	}

	void write(DataOutputStream out) throws IOException {
		out.writeLong(this.total);
		out.writeInt(this.count * TIMES);
		for (int i = 0; i < this.count * TIMES; i++) {
			out.writeLong(this.times[i]);
		}
	}

	static Turns read(DataInputStream in) throws IOException {
		long total = in.readLong();
		long[] times = new long[in.readInt()];
		for (int i = 0; i < times.length; i++) {
			times[i] = in.readLong();
		}
		return new Turns(times, total);
	}

}
