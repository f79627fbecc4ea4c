package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;

import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.StoreCommandException;

/**
 * Replicas of the store of a {@link Simulation}. A grant waits for its replication, and
 * fails after a timeout.
 */
final class SimulatedReplicas {

	/** Additional time for the answer of the store. */
	private static final long ANSWER = 200 * Simulation.MILLI;

	private final Simulation simulation;

	private final long timeout;

	private long missingUntil;

	/** Number of fail-overs. */
	private int failOvers;

	SimulatedReplicas(Simulation simulation, int timeoutMillis) {
		this.simulation = simulation;
		this.timeout = timeoutMillis * Simulation.MILLI;
	}

	/** Stop the replication for a time. */
	void miss(long nanos) {
		this.missingUntil = Math.max(this.missingUntil, this.simulation.now() + nanos);
	}

	void failedOver() {
		this.failOvers++;
	}

	int failOvers() {
		return this.failOvers;
	}

	/** Withhold a grant until its confirmation. */
	CompletableFuture<AcquireReply> confirmed(SimulatedInstance instance, Resource resource, String token,
			CompletableFuture<AcquireReply> command) {
		Grant grant = new Grant(command);
		command.whenComplete((reply, error) -> {
			if (error != null) {
				grant.completeExceptionally(error);
			}
			else if (reply instanceof Granted) {
				confirm(instance, resource, token, grant, reply);
			}
			else {
				grant.complete(reply);
			}
		});
		return grant;
	}

	private void confirm(SimulatedInstance instance, Resource resource, String token, Grant grant, AcquireReply reply) {
		Future<?> silence = instance.schedule(() -> fail(instance, token, grant), this.timeout + ANSWER);
		grant.whenComplete((done, error) -> silence.cancel(false));
		instance.store.stands(resource, token, this).whenComplete((stoodAt, error) -> {
			if (error != null) {
				grant.completeExceptionally(error);
			}
			else if (stoodAt < 0) {
				fail(instance, token, grant);
			}
			else {
				long delay = Math.max(0, this.missingUntil - this.simulation.now());
				boolean late = delay > this.timeout;
				instance.at(late ? this.timeout : delay, () -> {
					if (late || stoodAt != this.failOvers) {
						fail(instance, token, grant);
					}
					else {
						instance.store.confirmed(token);
						grant.complete(reply);
					}
				});
			}
		});
	}

	private void fail(SimulatedInstance instance, String token, Grant grant) {
		if (!grant.isDone()) {
			instance.store.unconfirmed(token);
			grant.completeExceptionally(StoreCommandException.unconfirmed("few replicas"));
		}
	}

	/**
	 * Withheld answer to a command.
	 */
	private static final class Grant extends CompletableFuture<AcquireReply> {

		private final CompletableFuture<AcquireReply> command;

		Grant(CompletableFuture<AcquireReply> command) {
			this.command = command;
		}

		@Override
		public boolean cancel(boolean mayInterruptIfRunning) {
			// First, as dependents of this future may send the next command.
			this.command.cancel(mayInterruptIfRunning);
			return super.cancel(mayInterruptIfRunning);
		}

	}

}
