package io.holdfast.observation;

import io.holdfast.engine.store.Resource.Kind;
import io.micrometer.common.docs.KeyName;
import io.micrometer.observation.docs.ObservationDocumentation;

/**
 * The observations: each of these is a timer, and a span where there is a tracer.
 *
 * @since 0.1.0
 */
public enum HoldfastObservationDocumentation implements ObservationDocumentation {

	/** From the request for locks until they are granted, or until it fails. */
	LOCK_ACQUIRE("holdfast.lock.acquire", "lock acquire", new KeyName[] { Tag.NAME, Tag.OUTCOME, Tag.MODE },
			new KeyName[] { Tag.KEY, Tag.FENCE }),

	/** Observation for as long as locks are held. */
	LOCK_HOLD("holdfast.lock.hold", "lock hold", new KeyName[] { Tag.NAME, Tag.OUTCOME, Tag.MODE },
			new KeyName[] { Tag.KEY, Tag.FENCE }),

	/** From the request for permits until they are granted, or until it fails. */
	SEMAPHORE_ACQUIRE("holdfast.semaphore.acquire", "semaphore acquire", new KeyName[] { Tag.NAME, Tag.OUTCOME },
			new KeyName[] { Tag.KEY, Tag.PERMITS }),

	/** Observation for as long as permits are held. */
	SEMAPHORE_HOLD("holdfast.semaphore.hold", "semaphore hold", new KeyName[] { Tag.NAME, Tag.OUTCOME },
			new KeyName[] { Tag.KEY, Tag.PERMITS }),

	/**
	 * A call of an annotated method that needs a lock or permits, from before it asks for
	 * them until they are released, or are left to a transaction.
	 */
	METHOD("holdfast.method", "method", new KeyName[] { Tag.CLASS, Tag.METHOD, Tag.UNGUARDED }, new KeyName[0]),

	/**
	 * The check of a fenced lock by a database, from which on other holders wait. One of
	 * more than some 10 ms has waited for another holder.
	 */
	FENCE_CHECK("holdfast.fence.check", "fence check", new KeyName[] { Tag.WHEN, Tag.FENCE_OUTCOME }, new KeyName[0]);

	private final String name;

	private final String contextualName;

	private final KeyName[] tags;

	private final KeyName[] spanTags;

	HoldfastObservationDocumentation(String name, String contextualName, KeyName[] tags, KeyName[] spanTags) {
		this.name = name;
		this.contextualName = contextualName;
		this.tags = tags;
		this.spanTags = spanTags;
	}

	static HoldfastObservationDocumentation acquire(Kind kind) {
		return (kind == Kind.SEMAPHORE) ? SEMAPHORE_ACQUIRE : LOCK_ACQUIRE;
	}

	static HoldfastObservationDocumentation hold(Kind kind) {
		return (kind == Kind.SEMAPHORE) ? SEMAPHORE_HOLD : LOCK_HOLD;
	}

	@Override
	public String getName() {
		return this.name;
	}

	@Override
	public String getContextualName() {
		return this.contextualName;
	}

	@Override
	public KeyName[] getLowCardinalityKeyNames() {
		return this.tags.clone();
	}

	@Override
	public KeyName[] getHighCardinalityKeyNames() {
		return this.spanTags.clone();
	}

	/**
	 * Tags. A key with the prefix {@code holdfast} has many values, and is for spans
	 * only; the others have few, and are for meters and spans.
	 */
	public enum Tag implements KeyName {

		/**
		 * The request's name: of an annotation without one, class and method;
		 * {@code none} for other requests without one. Each name has meters of its own:
		 * put no ids into it.
		 */
		NAME("name"),

		/** The outcome, see {@link LeaseOutcome}; {@code none} until then. */
		OUTCOME("outcome"),

		/** The mode of locks: {@code exclusive}, {@code read}. */
		MODE("mode"),

		/** The name of the class of the object that is called. */
		CLASS("class"),

		/** The name of the method. */
		METHOD("method"),

		/**
		 * Tells whether the method ran without its permits, as the store failed:
		 * {@code true} or {@code false}.
		 */
		UNGUARDED("unguarded"),

		/** The occasion of a check: {@code acquisition} or {@code transaction}. */
		WHEN("when"),

		/** The outcome of a check: {@code passed}, {@code refused} or {@code failed}. */
		FENCE_OUTCOME("outcome"),

		/** The key or, of several together, all of them, separated by commas. */
		KEY("holdfast.key"),

		/** The fencing token, or that of each of the keys; not before it is granted. */
		FENCE("holdfast.fence"),

		/** The number of permits that are asked for. */
		PERMITS("holdfast.permits");

		private final String key;

		Tag(String key) {
			this.key = key;
		}

		@Override
		public String asString() {
			return this.key;
		}

	}

}
