package io.holdfast.memory;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.InstanceStore;
import org.jspecify.annotations.Nullable;

/**
 * The instances that share {@link MemoryLeases}. Every command is answered at once.
 * Thread-safe.
 */
final class MemoryInstanceStore implements InstanceStore {

	private final MemoryAccess access;

	private final MemoryServer server;

	private final MemoryInstances instances;

	MemoryInstanceStore(MemoryAccess access, MemoryLeases leases) {
		this.access = access;
		this.server = leases.server();
		this.instances = leases.instances();
	}

	@Override
	public CompletableFuture<@Nullable String> join(String instanceId, InstanceInfo info, Duration age,
			Duration retention) {
		// All are in one JVM, and so of one version.
		return this.<@Nullable String>does(() -> {
			long now = this.server.nowMillis();
			Member member = new Member(InstanceStore.shown(instanceId), info, now - age.toMillis(), now);
			this.instances.join(instanceId, member, retention.toMillis());
		});
	}

	@Override
	public CompletableFuture<@Nullable Void> leave(String instanceId) {
		return does(() -> this.instances.leave(instanceId));
	}

	@Override
	public CompletableFuture<List<Member>> members(Duration retention, int most) {
		return this.access.answer(() -> this.instances.members(this.server.nowMillis() - retention.toMillis(), most));
	}

	@Override
	public CompletableFuture<Asked> ask(String instanceId, String report) {
		return this.access.answer(() -> {
			Asked asked = new Asked(new ArrayList<>(), new ArrayList<>());
			for (String id : this.instances.ids()) {
				if (!id.equals(instanceId)) {
					boolean heard = this.server.tellOfReport(id, report);
					(heard ? asked.present() : asked.absent()).add(InstanceStore.shown(id));
				}
			}
			return asked;
		});
	}

	@Override
	public CompletableFuture<@Nullable Void> answer(String report, String text) {
		return does(() -> this.instances.answer(report, text));
	}

	@Override
	public CompletableFuture<List<String>> collect(String report, int enough) {
		return this.access.answer(() -> this.instances.collect(report, enough));
	}

	private <T> CompletableFuture<@Nullable T> does(Runnable action) {
		return this.access.answer(() -> {
			action.run();
			return true;
		}).thenApply((done) -> null);
	}

}
