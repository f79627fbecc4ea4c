package io.holdfast.engine.fleet;

import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;

import io.holdfast.engine.context.EngineContext;
import io.holdfast.engine.observe.EngineObserver.Command;
import io.holdfast.engine.store.InstanceStore;
import io.holdfast.engine.store.InstanceStore.Asked;
import org.jspecify.annotations.Nullable;

/**
 * One question to all instances for their holds and waits. Does not block.
 */
final class ReportCollector {

	/** How long the instances have to answer. */
	static final long PATIENCE = TimeUnit.SECONDS.toNanos(1);

	private static final long FIRST_LOOK = TimeUnit.MILLISECONDS.toNanos(5);

	private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(50);

	private static final SecureRandom random = new SecureRandom();

	/** Where the name of an answer tells which key is asked for. */
	private static final int KEY_HASH = 24;

	private final EngineContext context;

	private final InstanceStore store;

	private final InstanceReport own;

	private final String name;

	private final long until;

	/**
	 * Create a question.
	 * @param name the {@linkplain #name name} of the answer
	 */
	ReportCollector(EngineContext context, InstanceReport own, String name) {
		this.context = context;
		this.store = context.store.instances();
		this.own = own;
		this.name = name;
		this.until = context.scheduler.nanoTime() + PATIENCE;
	}

	/**
	 * Return a new name for an answer: 32 hexadecimal digits. The last eight are the
	 * key's hash code, so that versions which do not know of it answer as well.
	 * @param key the key that is asked for above all, or {@code null}
	 */
	static String name(@Nullable String key) {
		byte[] bytes = new byte[16];
		random.nextBytes(bytes);
		String name = HexFormat.of().formatHex(bytes);
		return (key != null) ? name.substring(0, KEY_HASH) + HexFormat.of().toHexDigits(key.hashCode()) : name;
	}

	/**
	 * Return for which key an answer is wanted above all.
	 * @param name the {@linkplain #name name} of the answer
	 * @return the key; other keys may seem to be it, which does no harm
	 */
	static Predicate<String> wantedKey(String name) {
		int hash = Integer.parseUnsignedInt(name, KEY_HASH, name.length(), 16);
		return (key) -> key.hashCode() == hash;
	}

	/**
	 * Ask.
	 * @return the reports until all had answered, or the time was over
	 */
	CompletableFuture<FleetReport> ask(String instanceId) {
		return this.context.send(Command.FLEET, () -> this.store.ask(instanceId, this.name))
			.thenCompose((asked) -> collect(asked, List.of(), FIRST_LOOK));
	}

	/** Wait for the other instances: an answer may have come twice. */
	private CompletableFuture<FleetReport> collect(Asked asked, List<InstanceReport> answers, long pause) {
		List<String> silent = without(asked.present(), answers);
		if (silent.isEmpty()) {
			return CompletableFuture.completedFuture(reports(asked, answers));
		}
		long left = this.until - this.context.scheduler.nanoTime();
		CompletableFuture<List<String>> later = new CompletableFuture<>();
		this.context.scheduler.schedule(() -> later.complete(List.of()), Math.min(pause, left));
		return later.thenCompose((nothing) -> look((left > pause) ? silent.size() : 0)).thenCompose((texts) -> {
			List<InstanceReport> more = with(answers, texts);
			return (left > pause) ? collect(asked, more, Math.min(2 * pause, LONGEST_PAUSE))
					: CompletableFuture.completedFuture(reports(asked, more));
		});
	}

	private CompletableFuture<List<String>> look(int enough) {
		return this.context.send(Command.FLEET, () -> this.store.collect(this.name, enough));
	}

	/** One of each instance. */
	private static List<InstanceReport> with(List<InstanceReport> answers, List<String> texts) {
		Map<String, InstanceReport> all = new LinkedHashMap<>();
		answers.forEach((report) -> all.put(report.instance(), report));
		for (String text : texts) {
			InstanceReport report = ReportCodec.read(text);
			if (report != null) {
				all.putIfAbsent(report.instance(), report);
			}
		}
		return List.copyOf(all.values());
	}

	private static List<String> without(List<String> instances, List<InstanceReport> answers) {
		return instances.stream()
			.filter((instance) -> answers.stream().noneMatch((report) -> report.instance().equals(instance)))
			.toList();
	}

	private FleetReport reports(Asked asked, List<InstanceReport> answers) {
		return new FleetReport(Stream.concat(Stream.of(this.own), answers.stream()).toList(),
				Stream.concat(asked.absent().stream(), without(asked.present(), answers).stream()).toList());
	}

}
