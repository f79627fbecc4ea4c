package io.holdfast.engine;

import java.util.List;

import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Observes requests, renewals and losses in engines, of which it may observe several. A
 * blocking call notifies of its own request on its own thread. All other events come a
 * little later, on up to 64 threads of each engine: never on the timer, an event loop, or
 * a thread that renews. So the methods have to be thread-safe. While one takes its time,
 * its request waits; renewals and other requests do not. If very many events wait,
 * further ones are left out, and a warning says so. The methods must not use the engine.
 * Their exceptions are logged, the first time as a warning, and change nothing.
 *
 * @since 0.1.0
 */
public interface EngineObserver {

	/**
	 * A request is about to be made. The only method that is always called on the thread
	 * that asks, which may be an event loop: note the state of the thread, and leave all
	 * else to {@link RequestObserver#began()}.
	 * @param request the request
	 * @return the observer of the request, or {@code null} for none
	 */
	default @Nullable RequestObserver requested(ObservedRequest request) {
		return null;
	}

	/**
	 * A lease was lost, or the work took longer than it lasted: once for each
	 * {@link io.holdfast.LeaseLostEvent}.
	 * @param kind the kind of resource
	 * @param name the name that the request gave, or {@code null}
	 */
	default void lost(Kind kind, @Nullable String name) {
	}

	/**
	 * A renewal was answered, or failed.
	 * @param kind the kind of resource
	 * @param outcome its outcome
	 */
	default void renewed(Kind kind, RenewalOutcome outcome) {
	}

	/**
	 * A command to the store failed, or was not answered in time.
	 * @param command which
	 */
	default void failed(Command command) {
	}

	/**
	 * Observes one request and its lease. The methods are called one after the other, in
	 * the order of the events.
	 */
	interface RequestObserver {

		/**
		 * The request has begun. Requests for nested leases do not begin: they have their
		 * lock already, and nothing follows.
		 */
		default void began() {
		}

		/**
		 * The waiter is about to be granted the lock or permits of others.
		 * @param way the way in which it learned of that
		 */
		default void handedOver(HandOver way) {
		}

		/**
		 * Note that the lease is held from now on. Called before its user has it, unless
		 * 64 observers of asynchronous requests take their time.
		 * @param fences the fencing tokens, in the order of the keys
		 */
		default void granted(List<Long> fences) {
		}

		/**
		 * It is not granted. Called before its user is told, as {@link #granted} is.
		 * @param why the exception for its user
		 */
		default void failed(RuntimeException why) {
		}

		/**
		 * The caller of asynchronous code under it has gone, and the code goes on. Called
		 * once for each of its keys.
		 */
		default void callerGone() {
		}

		/**
		 * It is not held any more.
		 * @param end how that came
		 */
		default void ended(HoldEnd end) {
		}

	}

	/**
	 * The outcome of a renewal.
	 */
	enum RenewalOutcome {

		/** The lease lasts longer now. */
		RENEWED,

		/** The store says that the lease is gone, or said too late that it is not. */
		LOST,

		/** The store failed; it is tried again. */
		FAILED

	}

	/**
	 * The way in which a waiter learns of its grant.
	 */
	enum HandOver {

		/** Without any command, within this instance. */
		LOCAL,

		/** One and the same command gave it back and took it, within this instance. */
		PASSED_ON,

		/**
		 * By a grant notification: another command, mostly another instance's, granted
		 * it.
		 */
		WOKEN_UP,

		/** By asking again: a lease had ended by itself, or a wake-up did not arrive. */
		ASKED_AGAIN

	}

	/**
	 * The end of a hold.
	 */
	enum HoldEnd {

		/** Its user released it. */
		RELEASED,

		/** It was lost. */
		LOST,

		/** It was not to be renewed, and its time was over. */
		EXPIRED

	}

	/**
	 * The kinds of commands to the store.
	 */
	enum Command {

		/** To ask for something. */
		ACQUIRE,

		/** To give it back, or to wait no more. */
		RELEASE,

		/** To lengthen leases. */
		RENEW,

		/** To keep others out for a while yet. */
		RETAIN,

		/** To look. */
		INSPECT,

		/** To set a limit. */
		LIMIT,

		/** To know of other instances, and be known to them. */
		FLEET

	}

}
