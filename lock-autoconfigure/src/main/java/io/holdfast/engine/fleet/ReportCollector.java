package io.holdfast.engine.fleet;

import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;

import io.holdfast.engine.EngineContext;
import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.InstanceReport;
import io.holdfast.engine.store.InstanceStore;
import io.holdfast.engine.store.InstanceStore.Asked;
import org.jspecify.annotations.Nullable;

/**
 * Query of all instances for their holds and waits. Does not block.
 */
final class ReportCollector {

	/** Time for the instances to answer, in nanoseconds. */
	static final long PATIENCE = TimeUnit.SECONDS.toNanos(1);

	private static final long FIRST_LOOK = TimeUnit.MILLISECONDS.toNanos(5);

	private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(50);

	/** Position of the key's hash in the name of a query. */
	private static final int KEY_HASH = 24;

	private final EngineContext context;

	private final InstanceStore store;

	private final InstanceReport own;

	private final String name;

	private final long until;

	/**
	 * Create a query.
	 * @param name the {@linkplain #name name} of the query
	 */
	ReportCollector(EngineContext context, InstanceReport own, String name) {
		this.context = context;
		this.store = context.store.instances();
		this.own = own;
		this.name = name;
		this.until = context.scheduler.nanoTime() + PATIENCE;
	}

	/**
	 * Return a new name for a query: 32 hexadecimal digits. The last 8 are the hash code
	 * of the key. Older versions ignore the hash code, and answer as well.
	 * @param key the key whose entries come first, or {@code null}
	 */
	static String name(@Nullable String key) {
		String name = UUID.randomUUID().toString().replace("-", "");
		return (key != null) ? name.substring(0, KEY_HASH) + HexFormat.of().toHexDigits(key.hashCode()) : name;
	}

	/**
	 * Return a predicate for the key whose entries come first.
	 * @param name the {@linkplain #name name} of the query
	 * @return the predicate. It may match other keys with the same hash code, which does
	 * no harm
	 */
	static Predicate<String> wantedKey(String name) {
		int hash = Integer.parseUnsignedInt(name, KEY_HASH, name.length(), 16);
		return (key) -> key.hashCode() == hash;
	}

	/**
	 * Query all instances.
	 * @return a future of the reports, completed when all instances have answered or the
	 * time is over
	 */
	CompletableFuture<FleetReport> ask(String instanceId) {
		return this.context.sendInTime(Command.FLEET, () -> this.store.ask(instanceId, this.name))
			.thenCompose((asked) -> collect(asked, new LinkedHashMap<>(), FIRST_LOOK));
	}

	/** Wait for the missing answers. Answers may be duplicated. */
	private CompletableFuture<FleetReport> collect(Asked asked, Map<String, InstanceReport> answers, long pause) {
		int silent = silent(asked, answers).size();
		if (silent == 0) {
			return CompletableFuture.completedFuture(report(asked, answers));
		}
		long left = this.until - this.context.scheduler.nanoTime();
		boolean last = left <= pause;
		CompletableFuture<List<String>> later = new CompletableFuture<>();
		this.context.scheduler.schedule(() -> later.complete(List.of()), Math.min(pause, left));
		return later.thenCompose((nothing) -> look(last ? 0 : silent)).thenCompose((texts) -> {
			for (String text : texts) {
				InstanceReport answer = ReportCodec.read(text);
				if (answer != null) {
					answers.putIfAbsent(answer.instance(), answer);
				}
			}
			return last ? CompletableFuture.completedFuture(report(asked, answers))
					: collect(asked, answers, Math.min(2 * pause, LONGEST_PAUSE));
		});
	}

	private CompletableFuture<List<String>> look(int enough) {
		return this.context.sendInTime(Command.FLEET, () -> this.store.collect(this.name, enough));
	}

	private static List<String> silent(Asked asked, Map<String, InstanceReport> answers) {
		return asked.present().stream().filter((instance) -> !answers.containsKey(instance)).toList();
	}

	private FleetReport report(Asked asked, Map<String, InstanceReport> answers) {
		return new FleetReport(Stream.concat(Stream.of(this.own), answers.values().stream()).toList(),
				Stream.concat(asked.absent().stream(), silent(asked, answers).stream()).toList());
	}

}
