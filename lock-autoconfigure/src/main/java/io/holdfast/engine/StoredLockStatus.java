package io.holdfast.engine;

import java.time.Duration;
import java.util.function.Function;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockHolder;
import io.holdfast.LockStatus;
import io.holdfast.async.SingleLine;
import io.holdfast.engine.InstanceReport.Entry;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;

/**
 * State of a lock in the store.
 *
 * @param details the details of the exclusive holder, which are fetched on demand
 */
record StoredLockStatus(String key, Owner owner, @Nullable Duration remaining, long fencingToken, int readers,
		int waiting, int waitingInThisInstance, Details details) implements LockStatus {

	static StoredLockStatus of(LeaseEngine engine, Standing state, Owner owner, int waitingInThisInstance) {
		boolean expires = owner != Owner.NONE && state.ttlMillis() >= 0;
		return new StoredLockStatus(state.resource().key(), owner,
				expires ? Duration.ofMillis(state.ttlMillis()) : null, state.fence(), state.readerCount(),
				state.waiting(), waitingInThisInstance, new Details(engine, state, owner));
	}

	@Override
	public @Nullable LockHolder holder() {
		return this.details.holder();
	}

	@Override
	public @Nullable String thread() {
		Entry entry = this.details.entry();
		return (entry != null) ? entry.thread() : null;
	}

	@Override
	public @Nullable String note() {
		Entry entry = this.details.entry();
		return (entry != null) ? entry.note() : null;
	}

	@Override
	public String toString() {
		return "LockStatus[key=" + SingleLine.of(this.key) + ", owner=" + this.owner + ", remaining=" + this.remaining
				+ ", fencingToken=" + this.fencingToken + ", readers=" + this.readers + ", waiting=" + this.waiting
				+ ", waitingInThisInstance=" + this.waitingInThisInstance + ", since=" + since() + "]";
	}

	/**
	 * Details of the exclusive holder, as its instance reports them.
	 */
	private static final class Details {

		private final LeaseEngine engine;

		private final Resource lock;

		private final boolean own;

		/**
		 * Exclusive holder, or {@code null} if no instance holds the lock exclusively.
		 */
		private final @Nullable TokenState holder;

		/** Whether {@link #entry} was fetched. Guarded by this. */
		private boolean fetched;

		private @Nullable Entry entry;

		Details(LeaseEngine engine, Standing state, Owner owner) {
			this.engine = engine;
			this.lock = state.resource();
			this.own = owner == Owner.THIS_INSTANCE;
			this.holder = (this.own || owner == Owner.OTHER_INSTANCE) ? state.holders().get(0) : null;
		}

		@Nullable LockHolder holder() {
			if (this.holder == null) {
				return null;
			}
			String token = this.holder.token();
			LockHolder known = this.engine.context.holder(Tokens.instance(token));
			return (known != null) ? known : ask((directory) -> directory.holder(Tokens.shownInstance(token)));
		}

		synchronized @Nullable Entry entry() {
			TokenState place = this.holder;
			if (place != null && !this.fetched) {
				this.entry = this.own ? ownReport().find(place)
						: ask((directory) -> directory.find(this.lock.key(), place));
				this.fetched = true;
			}
			return this.entry;
		}

		private InstanceReport ownReport() {
			return this.engine.context.awaitAnswer(this.engine.reporter().report(this.lock.key()), this.lock,
					"The report of the holder");
		}

		/** Query the fleet, or return {@code null} if Redis denies the right to do so. */
		private <T> @Nullable T ask(Function<InstanceDirectory, @Nullable T> question) {
			InstanceDirectory directory = this.engine.directory();
			if (directory == null) {
				return null;
			}
			try {
				return question.apply(directory);
			}
			catch (LeaseStoreException ex) {
				Throwable cause = ex.getCause();
				if (cause == null || EngineExceptions.isTemporary(cause)) {
					throw ex;
				}
				return null;
			}
		}

	}

}
