package io.holdfast.actuate;

import java.util.function.Supplier;

import io.holdfast.LeaseStoreException;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.engine.fleet.Fleet;
import io.holdfast.engine.fleet.InstanceReport;
import io.holdfast.engine.store.StoreCommandException;
import org.jspecify.annotations.Nullable;

/**
 * An answer of several parts, of which some may not be had: the others are worth all the
 * more then.
 */
final class PartialResult {

	private final LeaseEngine engine;

	private @Nullable String problem;

	private boolean down;

	PartialResult(LeaseEngine engine) {
		this.engine = engine;
	}

	/**
	 * Look at a part.
	 * @param look how; not even tried if the store has failed before and may be down
	 * @return the part, or {@code null}
	 */
	<T> @Nullable T look(Supplier<T> look) {
		if (this.down) {
			return null;
		}
		try {
			return look.get();
		}
		catch (LeaseStoreException ex) {
			StoreCommandException failure = (ex.getCause() instanceof StoreCommandException cause) ? cause : null;
			this.down = failure == null || failure.isTemporary();
			if (this.problem == null) {
				boolean lost = failure != null && failure.isSilence() && !this.engine.isReached();
				this.problem = ex.getMessage() + (lost ? ", as the connection to it is lost" : "");
			}
			return null;
		}
	}

	/**
	 * Look at the holds and waits of an instance itself.
	 * @param fleet whose view
	 * @param key the key of the only thing that is wanted, or {@code null}
	 * @return its report, without the waits if they cannot be had
	 */
	InstanceReport own(Fleet fleet, @Nullable String key) {
		InstanceReport report = look(() -> fleet.report(key));
		return (report != null) ? report : fleet.holds();
	}

	/** Return the first problem, or {@code null}. */
	@Nullable String problem() {
		return this.problem;
	}

}
