package io.holdfast.engine.context;

import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

/**
 * A command that has yet to be sent. Once it is cancelled it is not sent any more, nor
 * sent again: a RELEASE of its token must not come before it.
 */
final class DeferredCommand<T> extends CompletableFuture<T> {

	/** Guarded by this. */
	private @Nullable CompletableFuture<T> sent;

	void send(Supplier<CompletableFuture<T>> way) {
		CompletableFuture<T> command;
		synchronized (this) {
			if (isDone()) {
				return;
			}
			command = way.get();
			this.sent = command;
		}
		command.whenComplete((reply, error) -> {
			if (error != null) {
				completeExceptionally(error);
			}
			else {
				complete(reply);
			}
		});
	}

	@Override
	public boolean cancel(boolean mayInterruptIfRunning) {
		CompletableFuture<T> command;
		synchronized (this) {
			command = this.sent;
			if (command == null) {
				return super.cancel(mayInterruptIfRunning);
			}
		}
		command.cancel(mayInterruptIfRunning);
		return super.cancel(mayInterruptIfRunning);
	}

}
