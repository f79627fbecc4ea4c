package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;

import io.holdfast.Lease;
import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockView;
import io.holdfast.NotAcquiredException;
import io.holdfast.engine.Step.Access;
import io.holdfast.engine.Step.Api;
import io.holdfast.engine.Step.Extra;
import io.holdfast.engine.Step.Use;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Type;
import org.jspecify.annotations.Nullable;

/**
 * Use of a view, whose methods block, on a simulated thread.
 */
final class ViewUse {

	/** Longer than any limited wait. */
	private static final long FOREVER = Duration.ofDays(1).toNanos();

	private final SimulatedUser user;

	private final SimulatedInstance instance;

	private final SimulatedThread thread;

	private final Use use;

	private final String key;

	/** Id of the current request. */
	private String currentId = "";

	private boolean interrupted;

	private boolean requestedBefore;

	/** Open leases, with the latest lease first. */
	private final Deque<LeaseHandle> locked = new ArrayDeque<>();

	ViewUse(SimulatedUser user, SimulatedInstance instance, SimulatedThread thread, Use use) {
		this.user = user;
		this.instance = instance;
		this.thread = thread;
		this.use = use;
		this.key = "k" + Math.max(0, use.key());
	}

	/** Return the use of the current thread. */
	static ViewUse current() {
		SimulatedThread thread = SimulatedThread.current();
		if (thread == null || thread.use == null) {
			throw new IllegalStateException("no simulated thread");
		}
		return thread.use;
	}

	/** Run the use. */
	void run() {
		this.thread.use = this;
		useLock(view(this.use.mode()));
	}

	private LockView view(Access mode) {
		return switch (mode) {
			case READ -> this.instance.locks.asReadWriteLock(this.key).readLock();
			case EXCLUSIVE, PERMITS -> (this.use.gap() % 2 == 0) ? this.instance.locks.asLock(this.key)
					: this.instance.locks.asReadWriteLock(this.key).writeLock();
		};
	}

	private void sleep(int millis) {
		this.thread.sleep(this.instance, millis * Simulation.MILLI);
	}

	// Locks

	private void useLock(LockView view) {
		if (!lock(view)) {
			return;
		}
		int until = Math.min(this.use.extraAt(), this.use.hold());
		sleep(until);
		boolean locked = doExtra(view);
		sleep(this.use.hold() - until);
		if (locked) {
			unlock(view);
		}
		if (this.use.extra() == Extra.RELEASE_TWICE) {
			expectNotHeld(view);
		}
	}

	private boolean lock(LockView view) {
		int before = view.getHoldCount();
		boolean locked = tryLock(view);
		if (view.getHoldCount() != before + (locked ? 1 : 0)) {
			unexpected(3, "held " + view.getHoldCount() + " times");
		}
		return locked;
	}

	private boolean tryLock(LockView view) {
		try {
			if (this.use.waiting() >= 0) {
				return (this.use.waiting() == 0) ? view.tryLock()
						: view.tryLock(this.use.waiting(), TimeUnit.MILLISECONDS);
			}
			if (this.use.api() == Api.VIEW) {
				view.lockInterruptibly();
			}
			else {
				view.lock();
			}
			return true;
		}
		catch (InterruptedException | NotAcquiredException | LeaseStoreException | LeaseLostException ex) {
			return false;
		}
	}

	/** Do the extra action. Returns whether the view is still locked. */
	private boolean doExtra(LockView view) {
		switch (this.use.extra()) {
			case REENTER, NEST -> {
				if (lock(view)) {
					sleep(30);
					unlock(view);
				}
			}
			case READ -> {
				LockView reading = view(Access.READ);
				if (this.use.mode() == Access.EXCLUSIVE && lock(reading)) {
					LeaseHandle read = this.locked.pop();
					unlock(view);
					this.locked.push(read);
					sleep(30);
					unlock(reading);
					return false;
				}
			}
			case RENEW -> renew(this.locked.getFirst());
			case OTHER_THREAD -> onAnotherThread(() -> expectNotHeld(view));
			case NONE, RELEASE_TWICE -> {
				return true;
			}
		}
		return true;
	}

	private void renew(Lease lease) {
		try {
			lease.extend(Duration.ofMillis(this.use.lease()));
		}
		catch (LeaseLostException | LeaseStoreException ex) {
			// The use continues without the renewal.
		}
	}

	private void unlock(LockView view) {
		LeaseHandle lease = this.locked.pop();
		String id = this.user.releasing(lease);
		try {
			view.unlock();
			this.user.record(Type.RELEASED, id, (event) -> event.why("RELEASED"));
		}
		catch (IllegalMonitorStateException ex) {
			this.user.record(Type.RELEASED, id, (event) -> event.why("LOST"));
			if (!String.valueOf(ex.getMessage()).contains("any more")) {
				unexpected(3, "not held by its own thread");
			}
		}
	}

	private void expectNotHeld(LockView view) {
		try {
			view.unlock();
			unexpected(3, "unlocked without a lease");
		}
		catch (IllegalMonitorStateException ex) {
			// Expected.
		}
	}

	/** Run an action on another thread, now or later. */
	private void onAnotherThread(Runnable action) {
		SimulatedThread other = this.user.otherThread();
		if (other.isBusy() || this.user.isMutant(Mutant.ANY_THREAD_UNLOCKS)) {
			action.run();
		}
		else {
			other.call(action);
		}
	}

	// Requests of views

	<L extends Lease> L askUninterruptibly(ResolvedRequest request, Call<L> call) {
		try {
			return ask(request, false, call);
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException("interrupted, though it cannot be", ex);
		}
	}

	<L extends Lease> L ask(ResolvedRequest request, Call<L> call) throws InterruptedException {
		return ask(request, true, call);
	}

	private <L extends Lease> L ask(ResolvedRequest request, boolean interruptible, Call<L> call)
			throws InterruptedException {
		String id = this.user.newId();
		long wait = Settings.waitNanos(request, SimulatedInstance.SETTINGS);
		long deadline = (wait < FOREVER) ? this.instance.simulation.now() + wait : 0;
		this.user.record(Type.ASKED, id,
				(event) -> event
					.of(SimulatedStore.mode(request.resource(), request.permits()), request.resource().key())
					.user(this.user.name)
					.until(deadline)
					.lease(request.leaseMillis() * Simulation.MILLI)
					.why(request.waits() ? "" : "NOT_WAITING"));
		planInterrupt(id, interruptible);
		try {
			L lease = call.call();
			checkInterrupt(null);
			this.locked.push((LeaseHandle) lease);
			this.user.opened((LeaseHandle) lease, id, false);
			return lease;
		}
		catch (InterruptedException | RuntimeException ex) {
			checkInterrupt(ex);
			this.user.refused(id, ex);
			this.user.lookForLeftovers(this.key);
			throw ex;
		}
	}

	private void planInterrupt(String id, boolean interruptible) {
		this.currentId = id;
		this.interrupted = false;
		if (this.use.cancel() == 0) {
			interrupt(id, interruptible);
			Thread.currentThread().interrupt();
		}
		else if (this.use.cancel() > 0 && !this.requestedBefore) {
			this.instance.at(this.use.cancel() * Simulation.MILLI, () -> {
				if (this.currentId.equals(id)) {
					interrupt(id, interruptible);
					this.thread.interrupt(this.instance);
				}
			});
		}
		this.requestedBefore = true;
	}

	private void interrupt(String id, boolean interruptible) {
		this.interrupted = true;
		if (interruptible) {
			this.user.record(Type.INTERRUPTED, id, (event) -> event);
		}
	}

	/**
	 * Check that an interrupt was reported by an exception or by the flag, and nothing
	 * else.
	 */
	private void checkInterrupt(@Nullable Exception thrown) {
		this.currentId = "";
		boolean flag = Thread.interrupted();
		boolean reported = flag || thrown instanceof InterruptedException;
		if (reported != this.interrupted || flag && thrown instanceof InterruptedException) {
			unexpected(5, (reported ? "a false interrupt, " : "a missing interrupt, ") + thrown);
		}
	}

	private void unexpected(int property, String message) {
		this.instance.simulation.record(Event.of(this.instance.simulation.now(), Type.UNEXPECTED, this.instance.name)
			.permits(property, 0)
			.why((this.user.name + ": " + message).replace(' ', '-')));
	}

	interface Call<L> {

		L call() throws InterruptedException;

	}

}
