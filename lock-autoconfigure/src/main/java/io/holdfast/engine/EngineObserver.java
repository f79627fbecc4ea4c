package io.holdfast.engine;

import java.util.List;

import io.holdfast.engine.store.Resource.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Observer of requests, renewals and losses in one or several engines. A blocking call
 * notifies the observer of its own request on its own thread. All other events follow a
 * little later, on up to 64 threads of each engine, but never on the timer, an event
 * loop, or a thread that renews leases. The methods must therefore be thread-safe. A slow
 * method delays its own request, but neither renewals nor other requests. If too many
 * events are pending, further events are dropped with a warning. The methods must not use
 * the engine. Their exceptions are logged, the first time as a warning, and have no
 * effect on leases.
 *
 * @since 0.1.0
 */
public interface EngineObserver {

	/**
	 * Called before a request starts. Always called on the requesting thread, which may
	 * be an event loop: only capture the state of the thread here, and leave everything
	 * else to {@link RequestObserver#began()}.
	 * @param request the request
	 * @return the observer of the request, or {@code null} for none
	 */
	default @Nullable RequestObserver requested(ObservedRequest request) {
		return null;
	}

	/**
	 * Called after a lease was lost, or has ended before its work: once for each
	 * {@link io.holdfast.LeaseLostEvent}.
	 * @param kind the kind of resource
	 * @param name the name of the request, or {@code null}
	 */
	default void lost(Kind kind, @Nullable String name) {
	}

	/**
	 * Called after a renewal was answered or has failed.
	 * @param kind the kind of resource
	 * @param outcome its outcome
	 */
	default void renewed(Kind kind, RenewalOutcome outcome) {
	}

	/**
	 * Called after a command to the store failed, or was not answered in time.
	 * @param command the kind of command
	 */
	default void failed(Command command) {
	}

	/**
	 * Observer of one request and its lease. The methods are called one at a time, in the
	 * order of the events.
	 */
	interface RequestObserver {

		/**
		 * Called after the request has started. Not called for a request that gets a
		 * nested lease; no other method is called for it either. After an exception of
		 * this method, no other method is called.
		 */
		default void began() {
		}

		/**
		 * Called before the waiter is granted a lock or permits that another owner held.
		 * @param way the way in which the waiter learned of the hand-over
		 */
		default void handedOver(HandOver way) {
		}

		/**
		 * Called when the lease is granted, before the user gets the lease. For
		 * asynchronous requests it may come later, if 64 other observers are slow.
		 * @param fences the fencing tokens, in the order of the keys
		 */
		default void granted(List<Long> fences) {
		}

		/**
		 * Called when the request has failed, before the user gets the exception, as
		 * {@link #granted} is.
		 * @param why the exception for the user
		 */
		default void failed(RuntimeException why) {
		}

		/**
		 * Called when the caller of asynchronous code under the lease has gone, while the
		 * code goes on. Called once for each key.
		 */
		default void callerGone() {
		}

		/**
		 * Called when the lease has ended.
		 * @param end the kind of end
		 */
		default void ended(HoldEnd end) {
		}

	}

	/**
	 * Outcome of a renewal.
	 */
	enum RenewalOutcome {

		/** The lease was extended. */
		RENEWED,

		/**
		 * The store does not have the lease any more, or confirmed the renewal too late.
		 */
		LOST,

		/** The store failed. The renewal is repeated. */
		FAILED

	}

	/**
	 * Way in which a waiter learns of its grant.
	 */
	enum HandOver {

		/** Handed over within this instance, without a command. */
		LOCAL,

		/**
		 * Handed over within this instance, by one command that releases and acquires.
		 */
		PASSED_ON,

		/**
		 * Granted by another command, usually another instance's, and learned by a
		 * notification.
		 */
		WOKEN_UP,

		/**
		 * Granted when the waiter asked again, after a lease expired or a notification
		 * was lost.
		 */
		ASKED_AGAIN

	}

	/**
	 * Kind of end of a hold.
	 */
	enum HoldEnd {

		/** The user released the lease. */
		RELEASED,

		/** The lease was lost. */
		LOST,

		/** The lease had no renewal, and its time was over. */
		EXPIRED

	}

	/**
	 * Kind of a command to the store.
	 */
	enum Command {

		/** Acquire a lock or permits. */
		ACQUIRE,

		/** Release a lock or permits, or stop waiting. */
		RELEASE,

		/** Renew leases. */
		RENEW,

		/** Keep a released key until its minHold is over. */
		RETAIN,

		/** Read the state of a key. */
		INSPECT,

		/** Set the limit of a semaphore. */
		LIMIT,

		/** Read or write the register of instances. */
		FLEET

	}

}
