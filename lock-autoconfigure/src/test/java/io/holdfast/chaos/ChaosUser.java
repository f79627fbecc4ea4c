package io.holdfast.chaos;

import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;

import io.holdfast.Lease;
import io.holdfast.LeaseLostException;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.NotAcquiredException;
import io.holdfast.SemaphoreService;
import io.holdfast.engine.Origin;
import io.holdfast.history.Event;
import io.holdfast.history.Event.Mode;
import io.holdfast.history.Event.Type;
import io.holdfast.history.HistoryFile;
import org.jspecify.annotations.Nullable;

/**
 * A thread of an instance that acquires, holds and releases shared keys, and writes a
 * history. Times are taken so that no hold is claimed beyond its lease.
 */
final class ChaosUser implements Runnable {

	private static final int MOMENT = (int) TimeUnit.MILLISECONDS.toNanos(20);

	private static final long GLANCE = TimeUnit.MILLISECONDS.toNanos(5);

	/** Least growth of a lease for an event. */
	private static final long RENEWED = TimeUnit.MILLISECONDS.toNanos(100);

	private final String instance;

	private final String name;

	private final Random random;

	private final LockService locks;

	private final SemaphoreService semaphores;

	private final HistoryFile history;

	private final BooleanSupplier goesOn;

	/** Last granted request of this instance by token. */
	private final Map<String, String> byToken;

	private int asked;

	ChaosUser(String instance, String name, Random random, LockService locks, SemaphoreService semaphores,
			HistoryFile history, Map<String, String> byToken, BooleanSupplier goesOn) {
		this.instance = instance;
		this.name = name;
		this.random = random;
		this.locks = locks;
		this.semaphores = semaphores;
		this.history = history;
		this.byToken = byToken;
		this.goesOn = goesOn;
	}

	@Override
	public void run() {
		while (this.goesOn.getAsBoolean()) {
			LockSupport.parkNanos(this.random.nextInt(MOMENT));
			use(Wish.random(this.random), null);
		}
	}

	private void use(Wish wish, @Nullable Grant outer) {
		String id = this.instance + "." + this.name + "." + this.asked++;
		String user = (wish.face() == Wish.Face.BLOCKING) ? this.name : id;
		long now = System.nanoTime();
		for (String key : wish.keys()) {
			write(now, Type.ASKED, id(wish, id, key), (event) -> asked(event, wish, key, user, now));
		}
		Lease lease;
		try {
			lease = acquire(wish, id);
		}
		catch (Throwable ex) {
			refused(wish, id, why(ex));
			return;
		}
		if (lease == null) {
			refused(wish, id, "TIMED_OUT");
			return;
		}
		Grant grant = granted(wish, id, lease, outer);
		hold(wish, grant);
		if (wish.canNest()) {
			use(wish.again(), grant);
		}
		release(wish, grant);
	}

	private static String id(Wish wish, String id, String key) {
		return (wish.keys().size() == 1) ? id : id + "/" + key;
	}

	private static Event asked(Event event, Wish wish, String key, String user, long now) {
		boolean permits = wish.mode() == Mode.PERMITS;
		return event.of(wish.mode(), key)
			.permits(permits ? wish.permits() : 0, permits ? Wish.LIMIT : 0)
			.user(user)
			.until(now + TimeUnit.MILLISECONDS.toNanos(wish.waitMillis()))
			.lease(TimeUnit.MILLISECONDS.toNanos(wish.leaseMillis()))
			.why((wish.keys().size() > 1) ? "PART" : (wish.waitMillis() == 0) ? "NOT_WAITING" : "");
	}

	private @Nullable Lease acquire(Wish wish, String id) throws Exception {
		boolean permits = wish.mode() == Mode.PERMITS;
		if (wish.face() == Wish.Face.BLOCKING) {
			return permits ? this.semaphores.tryAcquire(wish.semaphore()).orElse(null)
					: this.locks.tryAcquire(wish.locks()).orElse(null);
		}
		CompletableFuture<? extends Lease> future = permits ? this.semaphores.acquireAsync(wish.semaphore())
				: this.locks.acquireAsync(wish.locks());
		if (wish.face() == Wish.Face.CANCELLED) {
			try {
				return future.get(wish.cancelMillis(), TimeUnit.MILLISECONDS);
			}
			catch (TimeoutException ex) {
				for (String key : wish.keys()) {
					write(System.nanoTime(), Type.INTERRUPTED, id(wish, id, key), (event) -> event);
				}
				future.cancel(false);
			}
		}
		return future.get();
	}

	private static String why(Throwable error) {
		Throwable cause = (error instanceof ExecutionException || error instanceof CompletionException)
				? error.getCause() : error;
		if (cause instanceof NotAcquiredException ex) {
			return ex.getReason().name();
		}
		if (cause instanceof CancellationException) {
			return "INTERRUPTED";
		}
		if (cause instanceof LeaseStoreException) {
			return "STORE";
		}
		if (cause instanceof LeaseLostException) {
			return "LOST";
		}
		return String.valueOf(cause).replaceAll("\\s+", "_");
	}

	private void refused(Wish wish, String id, String why) {
		long now = System.nanoTime();
		for (String key : wish.keys()) {
			write(now, Type.REFUSED, id(wish, id, key), (event) -> event.why(why));
		}
	}

	private Grant granted(Wish wish, String id, Lease lease, @Nullable Grant outer) {
		long now = System.nanoTime();
		Grant grant = new Grant(id, lease, new AtomicLong(now + lease.remaining().toNanos()));
		if (outer == null) {
			Origin.of(lease).forEach((origin) -> granted(id(wish, id, origin.key()), origin, now));
		}
		for (String key : wish.keys()) {
			long fence = fence(lease, key);
			boolean entered = outer != null && fence == fence(outer.lease, key);
			write(now, Type.GRANTED, id(wish, id, key),
					(event) -> event.fence(fence).until(grant.until.get()).why(entered ? outer.id : ""));
		}
		lease.onLost(() -> lost(wish, grant));
		return grant;
	}

	private void granted(String id, Origin origin, long now) {
		String before = this.byToken.put(origin.token(), id);
		if (before != null && origin.handOvers() > 0) {
			write(now, Type.PASSED_ON, id, (event) -> event.why(before));
		}
	}

	private void lost(Wish wish, Grant grant) {
		long now = System.nanoTime();
		if (wish.keys().size() > 1) {
			// A part is lost, and it is unknown which part.
			long until = Math.min(now, grant.until.get());
			wish.keys().forEach((key) -> write(now, Type.LOST, id(wish, grant.id, key), (event) -> event.until(until)));
			return;
		}
		write(now, Type.LOST, grant.id, (event) -> event.until(grant.until.get()).why(wish.renewal() ? "RENEWED" : ""));
	}

	private static long fence(Lease lease, String key) {
		return (lease instanceof LockLease lock) ? lock.fencingToken(key) : 0;
	}

	private void hold(Wish wish, Grant grant) {
		long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(wish.holdMillis());
		while (this.goesOn.getAsBoolean() && System.nanoTime() < end) {
			long now = System.nanoTime();
			long left = grant.lease.remaining().toNanos();
			long until = now + left;
			if (left > 0 && until - grant.until.get() > RENEWED) {
				grant.until.set(until);
				for (String key : wish.keys()) {
					write(now, Type.HELD, id(wish, grant.id, key), (event) -> event.until(until));
				}
			}
			LockSupport.parkNanos(GLANCE);
		}
	}

	private void release(Wish wish, Grant grant) {
		long now = System.nanoTime();
		// Checked after the time was taken: a lease that is held now was held then.
		long until = grant.lease.isHeld() ? 0 : Math.min(now, grant.until.get());
		List<String> ids = wish.keys().stream().map((key) -> id(wish, grant.id, key)).toList();
		ids.forEach((id) -> write(now, Type.RELEASING, id, (event) -> event.until(until)));
		String answer = answer(grant.lease);
		ids.forEach((id) -> write(System.nanoTime(), Type.RELEASED, id, (event) -> event.why(answer)));
	}

	private static String answer(Lease lease) {
		try {
			return lease.release().name();
		}
		catch (LeaseStoreException ex) {
			return "STORE";
		}
	}

	private void write(long at, Type type, String id, UnaryOperator<Event> more) {
		this.history.write(more.apply(Event.of(at, type, this.instance).id(id)));
	}

	/** A lease, and the least end of its hold. */
	private record Grant(String id, Lease lease, AtomicLong until) {
	}

}
