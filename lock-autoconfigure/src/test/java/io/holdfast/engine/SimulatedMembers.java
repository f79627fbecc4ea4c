package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.fleet.ReportCodec;
import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.InstanceStore;
import org.jspecify.annotations.Nullable;

/**
 * Access of a {@link SimulatedInstance} to the register of instances, by its faulty
 * connection.
 */
final class SimulatedMembers implements InstanceStore {

	private final SimulatedConnection connection;

	private final InstanceStore store;

	private final Mutant mutant;

	private boolean joined;

	SimulatedMembers(SimulatedConnection connection, InstanceStore store, Mutant mutant) {
		this.connection = connection;
		this.store = store;
		this.mutant = mutant;
	}

	@Override
	public CompletableFuture<@Nullable String> join(String instanceId, InstanceInfo info, Duration age,
			Duration retention) {
		if (this.mutant == Mutant.JOINED_ONCE && this.joined) {
			return CompletableFuture.completedFuture(null);
		}
		this.joined = true;
		Duration kept = (this.mutant == Mutant.ETERNAL_MEMBERS) ? Duration.ofDays(1) : retention;
		return send("join", () -> this.store.join(instanceId, info, age, kept));
	}

	@Override
	public CompletableFuture<@Nullable Void> leave(String instanceId) {
		return send("leave", () -> this.store.leave(instanceId));
	}

	@Override
	public CompletableFuture<List<Member>> members(Duration retention, int most) {
		return this.connection.send("members", "", null, () -> this.store.members(retention, most));
	}

	@Override
	public CompletableFuture<Asked> ask(String instanceId, String report) {
		return this.connection.send("ask", "", null, () -> this.store.ask(instanceId, report));
	}

	@Override
	public CompletableFuture<@Nullable Void> answer(String report, String text) {
		return switch (this.mutant) {
			case MUTE_MEMBER -> CompletableFuture.completedFuture(null);
			case EMPTY_REPORTS -> {
				InstanceReport own = ReportCodec.read(text);
				String empty = (own != null)
						? ReportCodec.of(new InstanceReport(own.instance(), List.of(), List.of(), false)) : text;
				yield send("answer", () -> this.store.answer(report, empty));
			}
			default -> send("answer", () -> this.store.answer(report, text));
		};
	}

	@Override
	public CompletableFuture<List<String>> collect(String report, int enough) {
		return this.connection.send("collect", "", null, () -> this.store.collect(report, enough));
	}

	/**
	 * Send a command, with {@code true} as the answer: {@code null} counts as a failure.
	 */
	private <T> CompletableFuture<@Nullable T> send(String name, Command command) {
		return this.connection.send(name, "", null, () -> command.send().thenApply((done) -> true))
			.thenApply((done) -> null);
	}

	/**
	 * A command without an answer.
	 */
	private interface Command {

		CompletableFuture<?> send();

	}

}
