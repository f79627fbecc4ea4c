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
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;

/**
 * State of a key in the store. Details are fetched from the holder's instance on demand.
 */
final class StoredLockStatus implements LockStatus {

	private final LeaseEngine engine;

	private final String key;

	private final Owner owner;

	private final Standing state;

	private final int waitingInThisInstance;

	/** Whether {@link #details} were fetched. Guarded by this. */
	private boolean detailsFetched;

	private @Nullable Entry details;

	StoredLockStatus(LeaseEngine engine, String key, Owner owner, Standing state, int waitingInThisInstance) {
		this.engine = engine;
		this.key = key;
		this.owner = owner;
		this.state = state;
		this.waitingInThisInstance = waitingInThisInstance;
	}

	@Override
	public String key() {
		return this.key;
	}

	@Override
	public Owner owner() {
		return this.owner;
	}

	@Override
	public @Nullable Duration remaining() {
		return (this.owner != Owner.NONE && this.state.ttlMillis() >= 0) ? Duration.ofMillis(this.state.ttlMillis())
				: null;
	}

	@Override
	public long fencingToken() {
		return this.state.fence();
	}

	@Override
	public int readers() {
		return this.state.readerCount();
	}

	@Override
	public int waiting() {
		return this.state.waiting();
	}

	@Override
	public int waitingInThisInstance() {
		return this.waitingInThisInstance;
	}

	/**
	 * Return the token of the exclusive holder, or {@code null} if no instance holds the
	 * key exclusively.
	 */
	private @Nullable String token() {
		return (this.owner == Owner.THIS_INSTANCE || this.owner == Owner.OTHER_INSTANCE) ? this.state.owner() : null;
	}

	@Override
	public @Nullable LockHolder holder() {
		String token = token();
		if (token == null) {
			return null;
		}
		LockHolder known = this.engine.context.holder(Tokens.instance(token));
		return (known != null) ? known : ask((directory) -> directory.holder(Tokens.shownInstance(token)));
	}

	@Override
	public @Nullable String thread() {
		Entry entry = details();
		return (entry != null) ? entry.thread() : null;
	}

	@Override
	public @Nullable String note() {
		Entry entry = details();
		return (entry != null) ? entry.note() : null;
	}

	private synchronized @Nullable Entry details() {
		String token = token();
		if (token != null && !this.detailsFetched) {
			TokenState place = this.state.holders().get(0);
			this.details = (this.owner == Owner.THIS_INSTANCE) ? ownReport().find(place)
					: ask((directory) -> directory.find(this.key, place));
			this.detailsFetched = true;
		}
		return this.details;
	}

	private InstanceReport ownReport() {
		return this.engine.context.awaitAnswer(this.engine.reporter().report(this.key),
				new Resource(Kind.LOCK, this.key), "The look at the holder");
	}

	/** Query the fleet, or return {@code null} if Redis denies the right to do so. */
	private <T> @Nullable T ask(Function<InstanceDirectory, @Nullable T> question) {
		InstanceDirectory directory = this.engine.context.directory();
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

	@Override
	public String toString() {
		return "LockStatus[key=" + SingleLine.of(this.key) + ", owner=" + this.owner + ", remaining=" + remaining()
				+ ", fencingToken=" + fencingToken() + ", readers=" + readers() + ", waiting=" + waiting()
				+ ", waitingInThisInstance=" + waitingInThisInstance() + ", since=" + since() + "]";
	}

}
