package io.holdfast.benchmark;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What one JVM did.
 *
 * @param threads the turns of its threads
 * @param callersBytes what these threads allocated
 * @param processBytes what all threads allocated in the same time
 * @param cpuNanos how long processors were busy with the process in the same time
 */
record Outcome(List<Turns> threads, long callersBytes, long processBytes, long cpuNanos) {

	long total() {
		return this.threads.stream().mapToLong(Turns::total).sum();
	}

	void write(Path file) {
		try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)))) {
			out.writeLong(this.callersBytes);
			out.writeLong(this.processBytes);
			out.writeLong(this.cpuNanos);
			out.writeInt(this.threads.size());
			for (Turns thread : this.threads) {
				thread.write(out);
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	static Outcome read(Path file) {
		try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(file)))) {
			long callersBytes = in.readLong();
			long processBytes = in.readLong();
			long cpuNanos = in.readLong();
			List<Turns> threads = new ArrayList<>();
			for (int count = in.readInt(); count > 0; count--) {
				threads.add(Turns.read(in));
			}
			return new Outcome(threads, callersBytes, processBytes, cpuNanos);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
