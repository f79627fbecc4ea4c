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
 * What one JVM did: the turns of its threads, and what was allocated for all of them, by
 * the threads that asked and by the whole process.
 */
record Outcome(List<Turns> threads, long callersBytes, long processBytes) {

	long total() {
		return this.threads.stream().mapToLong(Turns::total).sum();
	}

	void write(Path file) {
		try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)))) {
			out.writeLong(this.callersBytes);
			out.writeLong(this.processBytes);
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
			List<Turns> threads = new ArrayList<>();
			for (int count = in.readInt(); count > 0; count--) {
				threads.add(Turns.read(in));
			}
			return new Outcome(threads, callersBytes, processBytes);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
