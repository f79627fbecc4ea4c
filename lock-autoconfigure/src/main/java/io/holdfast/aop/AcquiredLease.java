package io.holdfast.aop;

import java.util.concurrent.CompletableFuture;

import io.holdfast.Lease;
import io.holdfast.ReleaseResult;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The lease of one call, released when the method has ended.
 *
 * @param lease the lease
 * @param noun what it is, for messages
 * @param declaration what asked for it
 */
record AcquiredLease(Lease lease, String noun, Declaration<?> declaration) implements Step.Held {

	private static final Log logger = LogFactory.getLog(AcquiredLease.class);

	@Override
	public void release() {
		end(null);
	}

	@Override
	public CompletableFuture<?> releaseAsync() {
		return endAsync(null);
	}

	@Override
	public @Nullable Throwable end(@Nullable Throwable failure) {
		try {
			released(this.lease.release());
		}
		catch (RuntimeException ex) {
			notReleased(ex);
		}
		return failure;
	}

	@Override
	public CompletableFuture<@Nullable Throwable> endAsync(@Nullable Throwable failure) {
		return this.lease.releaseAsync().handle((result, ex) -> {
			if (ex != null) {
				notReleased(ex);
			}
			else {
				released(result);
			}
			return failure;
		});
	}

	private void released(ReleaseResult result) {
		if (result == ReleaseResult.LOST) {
			logger.warn(what() + " was lost while " + this.declaration.qualifiedMethodName()
					+ " ran: others may have held it at the same time");
		}
	}

	private void notReleased(Throwable ex) {
		logger.warn(what() + " of " + this.declaration.qualifiedMethodName()
				+ " was not released at once; it ends with its lease at the latest", ex);
	}

	private String what() {
		return this.noun + " '" + this.lease.key() + "'";
	}

}
