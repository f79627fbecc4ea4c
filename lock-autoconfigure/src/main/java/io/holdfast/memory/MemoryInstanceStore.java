package io.holdfast.memory;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.InstanceStore;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;

/**
 * Register of the instances that share {@link MemoryLeases}. Every command is answered at
 * once. Thread-safe.
 */
final class MemoryInstanceStore implements InstanceStore {

	private final MemoryLeaseStore store;

	private final MemoryLeases leases;

	MemoryInstanceStore(MemoryLeaseStore store, MemoryLeases leases) {
		this.store = store;
		this.leases = leases;
	}

	@Override
	public CompletableFuture<@Nullable String> join(String instanceId, InstanceInfo info, Duration age,
			Duration retention) {
		// No comparison of versions: all instances are in one JVM.
		return this.<@Nullable String>run(() -> {
			long now = this.leases.now() / 1000;
			this.leases.members.values().removeIf((other) -> now - other.seenMillis() > retention.toMillis());
			// Keep the first start time: a later command may have been under way for
			// longer, so that its age is less precise.
			Member known = this.leases.members.get(instanceId);
			long started = (known != null) ? known.startedMillis() : now - age.toMillis();
			this.leases.members.put(instanceId, new Member(Tokens.shown(instanceId), info, started, now));
			return null;
		});
	}

	@Override
	public CompletableFuture<@Nullable Void> leave(String instanceId) {
		return this.<@Nullable Void>run(() -> {
			this.leases.members.remove(instanceId);
			return null;
		});
	}

	@Override
	public CompletableFuture<List<Member>> members(Duration retention, int most) {
		return run(() -> this.leases.members.values()
			.stream()
			.filter((member) -> member.seenMillis() > this.leases.now() / 1000 - retention.toMillis())
			.sorted(Comparator.comparingLong(Member::seenMillis).reversed())
			.limit(most)
			.toList());
	}

	@Override
	public CompletableFuture<Asked> ask(String instanceId, String report) {
		return run(() -> {
			Asked asked = new Asked(new ArrayList<>(), new ArrayList<>());
			for (String id : this.leases.members.keySet()) {
				if (!id.equals(instanceId)) {
					boolean heard = this.leases.tellOfReport(id, report);
					(heard ? asked.present() : asked.absent()).add(Tokens.shown(id));
				}
			}
			return asked;
		});
	}

	@Override
	public CompletableFuture<@Nullable Void> answer(String report, String text) {
		return this.<@Nullable Void>run(() -> {
			this.leases.reports.computeIfAbsent(report, (absent) -> new ArrayList<>()).add(text);
			return null;
		});
	}

	@Override
	public CompletableFuture<List<String>> collect(String report, int enough) {
		return run(() -> {
			List<String> answers = this.leases.reports.getOrDefault(report, List.of());
			if (answers.size() < enough) {
				return List.of();
			}
			this.leases.reports.remove(report);
			return answers;
		});
	}

	private <T extends @Nullable Object> CompletableFuture<T> run(Supplier<T> command) {
		return this.store.answer(() -> this.leases.run(command));
	}

}
