package io.holdfast.observation;

import io.holdfast.engine.store.Resource.Kind;
import io.micrometer.common.docs.KeyName;
import io.micrometer.observation.docs.ObservationDocumentation;

/**
 * Observations of Holdfast. Each observation is a timer, and with a tracer also a span.
 *
 * @since 0.1.0
 */
public enum HoldfastObservationDocumentation implements ObservationDocumentation {

	/** Request for locks, until the locks are granted or the request fails. */
	LOCK_ACQUIRE("holdfast.lock.acquire", "lock acquire", new KeyName[] { Tag.NAME, Tag.OUTCOME, Tag.MODE },
			new KeyName[] { Tag.KEY, Tag.FENCE }),

	/** Lease of locks, from the grant to its end. */
	LOCK_HOLD("holdfast.lock.hold", "lock hold", new KeyName[] { Tag.NAME, Tag.OUTCOME, Tag.MODE },
			new KeyName[] { Tag.KEY, Tag.FENCE }),

	/** Request for permits, until the permits are granted or the request fails. */
	SEMAPHORE_ACQUIRE("holdfast.semaphore.acquire", "semaphore acquire", new KeyName[] { Tag.NAME, Tag.OUTCOME },
			new KeyName[] { Tag.KEY, Tag.PERMITS }),

	/** Lease of permits, from the grant to its end. */
	SEMAPHORE_HOLD("holdfast.semaphore.hold", "semaphore hold", new KeyName[] { Tag.NAME, Tag.OUTCOME },
			new KeyName[] { Tag.KEY, Tag.PERMITS }),

	/**
	 * Call of an annotated method that needs a lock or permits, from before the request
	 * until they are released, or are left to a transaction.
	 */
	METHOD("holdfast.method", "method", new KeyName[] { Tag.CLASS, Tag.METHOD, Tag.UNGUARDED }, new KeyName[0]),

	/**
	 * Check of a fenced lock by a database. Other holders wait from the check to the end
	 * of the transaction. A check that takes much longer than other statements has waited
	 * for another holder.
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
	 * Tags of observations. Tags with the prefix {@code holdfast} have many values, and
	 * are on spans only. All other tags have few values, and are on meters and spans.
	 */
	public enum Tag implements KeyName {

		/**
		 * Name of the request. For an annotation without a name, class and method; for
		 * other requests without a name, {@code none}. Each name has its own meters: do
		 * not put ids into names.
		 */
		NAME("name"),

		/** Outcome, see {@link LeaseOutcome}; {@code none} before the end. */
		OUTCOME("outcome"),

		/** Mode of locks: {@code exclusive} or {@code read}. */
		MODE("mode"),

		/**
		 * Name of the called object's class; of a lambda or proxy, that of its interface.
		 */
		CLASS("class"),

		/** Name of the method. */
		METHOD("method"),

		/**
		 * Run of the method without permits because the store failed: {@code true} or
		 * {@code false}.
		 */
		UNGUARDED("unguarded"),

		/** Occasion of a check: {@code acquisition} or {@code transaction}. */
		WHEN("when"),

		/** Outcome of a check: {@code passed}, {@code refused} or {@code failed}. */
		FENCE_OUTCOME("outcome"),

		/** Key, or several keys separated by commas. */
		KEY("holdfast.key"),

		/** Fencing token after the grant; several tokens are separated by commas. */
		FENCE("holdfast.fence"),

		/** Number of requested permits. */
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
