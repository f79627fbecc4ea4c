package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;

import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.StoreCommandException;

/**
 * The replicas of a {@link Simulation}'s store: a grant is held back until they have it,
 * and fails if they do not have it in time.
 */
final class SimulatedReplicas {

	/** What the store gets to answer when the time is over. */
	private static final long ANSWER = 200 * Simulation.MILLI;

	private final Simulation simulation;

	private final long timeout;

	private long missingUntil;

	/** How often one of them took over. */
	private int failOvers;

	SimulatedReplicas(Simulation simulation, int timeoutMillis) {
		this.simulation = simulation;
		this.timeout = timeoutMillis * Simulation.MILLI;
	}

	/** They receive nothing for a time. */
	void miss(long nanos) {
		this.missingUntil = Math.max(this.missingUntil, this.simulation.now() + nanos);
	}

	void failedOver() {
		this.failOvers++;
	}

	int failOvers() {
		return this.failOvers;
	}

	/** Hold a command's answer back if it is a grant. */
	CompletableFuture<AcquireReply> confirmed(SimulatedInstance instance, Resource resource, String token,
			CompletableFuture<AcquireReply> command) {
		Grant grant = new Grant(command);
		command.whenComplete((reply, error) -> {
			if (error != null) {
				grant.completeExceptionally(error);
			}
			else if (reply instanceof Granted) {
				look(instance, resource, token, grant, reply);
			}
			else {
				grant.complete(reply);
			}
		});
		return grant;
	}

	private void look(SimulatedInstance instance, Resource resource, String token, Grant grant, AcquireReply reply) {
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
	 * The answer to a command, held back.
	 */
	private static final class Grant extends CompletableFuture<AcquireReply> {

		private final CompletableFuture<AcquireReply> command;

		Grant(CompletableFuture<AcquireReply> command) {
			this.command = command;
		}

		@Override
		public boolean cancel(boolean mayInterruptIfRunning) {
			// First, as what depends on this may send the next command.
			this.command.cancel(mayInterruptIfRunning);
			return super.cancel(mayInterruptIfRunning);
		}

	}

}
