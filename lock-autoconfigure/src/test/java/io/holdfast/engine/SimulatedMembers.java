package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.fleet.ReportCodec;
import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.InstanceStore;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link SimulatedInstance} says of itself to the store, and asks others by it, on
 * its connection with all that goes wrong there.
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
		if (this.mutant == Mutant.SAID_ONCE && this.joined) {
			return CompletableFuture.completedFuture(null);
		}
		this.joined = true;
		Duration kept = (this.mutant == Mutant.ETERNAL_MEMBERS) ? Duration.ofDays(1) : retention;
		return says("join", () -> this.store.join(instanceId, info, age, kept));
	}

	@Override
	public CompletableFuture<@Nullable Void> leave(String instanceId) {
		return says("leave", () -> this.store.leave(instanceId));
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
				yield says("answer", () -> this.store.answer(report, empty));
			}
			default -> says("answer", () -> this.store.answer(report, text));
		};
	}

	@Override
	public CompletableFuture<List<String>> collect(String report, int enough) {
		return this.connection.send("collect", "", null, () -> this.store.collect(report, enough));
	}

	/** With an answer, as one that is {@code null} would be none. */
	private <T> CompletableFuture<@Nullable T> says(String what, Command command) {
		return this.connection.send(what, "", null, () -> command.send().thenApply((done) -> true))
			.thenApply((done) -> null);
	}

	/**
	 * A command without an answer.
	 */
	private interface Command {

		CompletableFuture<?> send();

	}

}
