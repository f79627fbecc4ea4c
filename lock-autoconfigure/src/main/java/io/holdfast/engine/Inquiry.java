package io.holdfast.engine;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import io.holdfast.engine.EngineObserver.Command;
import io.holdfast.engine.InstanceStore.Asked;

/**
 * One question to all instances for what they hold and wait for. Does not block.
 */
final class Inquiry {

	/** How long the instances have to answer. */
	static final long PATIENCE = TimeUnit.SECONDS.toNanos(1);

	private static final long FIRST_LOOK = TimeUnit.MILLISECONDS.toNanos(5);

	private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(50);

	private static final SecureRandom random = new SecureRandom();

	private final LeaseEngine engine;

	private final InstanceStore store;

	private final Report own;

	private final String name;

	private final long until;

	/**
	 * Create a question.
	 * @param engine the engine of who asks
	 * @param own its own report
	 */
	Inquiry(LeaseEngine engine, Report own) {
		this.engine = engine;
		this.store = engine.store.instances();
		this.own = own;
		byte[] bytes = new byte[16];
		random.nextBytes(bytes);
		this.name = HexFormat.of().formatHex(bytes);
		this.until = engine.now() + PATIENCE;
	}

	/**
	 * Ask.
	 * @param instanceId the id of who asks
	 * @return what was reported until all had answered, or the time was over
	 */
	CompletableFuture<Reports> ask(String instanceId) {
		return this.engine.send(Command.FLEET, () -> this.store.ask(instanceId, this.name)).thenCompose((asked) -> {
			if (asked.present().isEmpty()) {
				return CompletableFuture.completedFuture(reports(asked, List.of()));
			}
			return collect(asked.present().size(), FIRST_LOOK).thenApply((texts) -> reports(asked, texts));
		});
	}

	private CompletableFuture<List<String>> collect(int enough, long pause) {
		long left = this.until - this.engine.now();
		CompletableFuture<List<String>> later = new CompletableFuture<>();
		this.engine.scheduler.schedule(() -> later.complete(List.of()), Math.min(pause, left));
		return later.thenCompose((nothing) -> look((left > pause) ? enough : 0))
			.thenCompose((texts) -> (texts.isEmpty() && left > pause)
					? collect(enough, Math.min(2 * pause, LONGEST_PAUSE)) : CompletableFuture.completedFuture(texts));
	}

	private CompletableFuture<List<String>> look(int enough) {
		return this.engine.send(Command.FLEET, () -> this.store.collect(this.name, enough));
	}

	private Reports reports(Asked asked, List<String> texts) {
		List<Report> answers = texts.stream()
			.map(ReportText::read)
			.filter(Objects::nonNull)
			.map((report) -> Objects.requireNonNull(report))
			.toList();
		List<String> silent = new ArrayList<>(asked.absent());
		asked.present()
			.stream()
			.filter((instance) -> answers.stream().noneMatch((report) -> report.instance().equals(instance)))
			.forEach(silent::add);
		return new Reports(Stream.concat(Stream.of(this.own), answers.stream()).toList(), silent);
	}

}
