package io.holdfast.engine;

import io.holdfast.engine.LeaseStore.Ask;

/**
 * The way of what the store tells without being asked to those whom it concerns: above
 * all of a grant that somebody else's command made to its waiter. Thread-safe.
 */
final class WakeUpDispatch implements LeaseStore.WakeUps {

	private final LeaseEngine engine;

	private final EngineContext context;

	WakeUpDispatch(LeaseEngine engine) {
		this.engine = engine;
		this.context = engine.context;
	}

	@Override
	public void handedOver(Resource resource, String token, long fence, long ttlMillis) {
		Attempt attempt = this.engine.contenders.get(token);
		if (attempt != null) {
			attempt.gate.execute(() -> attempt.handedOver(fence, ttlMillis));
		}
		else if (this.engine.releases.isOver(token)) {
			// Its waiter gave up: others must not wait for the claim's end.
			this.engine.releases.release(resource, unknown(token), Release.NO_DOUBT, null);
		}
		else if (ttlMillis > 0) {
			heldAnew(resource, token, fence);
		}
	}

	/**
	 * A grant with a newer fence than that of the hold: the store had let go of the
	 * token, and a late copy of its ACQUIRE has queued it again. Others may have had the
	 * key.
	 */
	private void heldAnew(Resource resource, String token, long fence) {
		Hold hold = this.engine.keeper.find(token);
		if (hold != null && fence > hold.fence) {
			this.engine.keeper.gone(token, "the store let go of it and has granted it anew");
			this.engine.releases.release(resource, unknown(token), Release.NO_DOUBT, null);
		}
	}

	private Ask unknown(String token) {
		return Ask.unknown(token, this.context.settings.handoffTimeout().toMillis());
	}

	@Override
	public void wanted(Resource resource, String token) {
		Gate gate = this.engine.gates.get(resource);
		if (this.engine.releases.isOver(token)) {
			// A shut-down releases by itself.
			if (!this.context.isClosed()) {
				this.engine.releases.releaseIfOver(resource, unknown(token));
			}
		}
		else if (gate != null) {
			gate.execute(() -> gate.wanted(token));
		}
	}

	@Override
	public void reportWanted(String report) {
		this.engine.fleet().answer(report);
	}

	@Override
	public void listening() {
		this.engine.contenders.values().forEach((attempt) -> attempt.gate.execute(attempt::listening));
	}

}
