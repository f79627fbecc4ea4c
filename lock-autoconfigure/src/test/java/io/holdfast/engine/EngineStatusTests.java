package io.holdfast.engine;

import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.engine.store.StoreCommandException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

class EngineStatusTests extends ScriptedEngine {

	private int failing() {
		return this.engine.status().failingRenewals();
	}

	@Test
	@DisplayName("The status counts holds and waiters, within the instance and in the store")
	void counts() {
		assertThat(this.engine.status()).isEqualTo(new EngineStatus(false, true, null, null, 0, 0, 0));
		LockLease lease = granted(REQUEST, 10);
		this.service.acquireAsync(REQUEST);
		this.service.acquireAsync(REQUEST);
		assertThat(this.engine.status()).isEqualTo(new EngineStatus(false, true, null, null, 1, 2, 0));
		lease.releaseAsync();
		this.store.last("release 1 next 2").granted(11, 30_000);
		assertThat(this.engine.status()).isEqualTo(new EngineStatus(false, true, null, null, 1, 1, 0));
		this.store.listening = false;
		assertThat(this.engine.status().listening()).isFalse();
	}

	@Test
	@DisplayName("A refusal for a missing right stays in the status until a grant, for at most a minute")
	void refusal() {
		StoreCommandException refusal = StoreCommandException.forbidden("for 'k': no right to it", "no right to it",
				new IllegalStateException());
		CompletableFuture<LockLease> refused = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").fail(refusal);
		assertThat(refused).isCompletedExceptionally();
		assertThat(this.engine.status().refusal()).isEqualTo("no right to it");
		this.service.acquireAsync(LockRequest.of("other"));
		this.store.last("acquire 2").fail(false);
		assertThat(this.engine.status().refusal()).as("after another failure").isEqualTo("no right to it");
		this.store.elapse(59_000);
		assertThat(this.engine.status().refusal()).as("after less than a minute").isEqualTo("no right to it");
		this.store.elapse(1000);
		assertThat(this.engine.status().refusal()).as("after a minute").isNull();
		this.service.acquireAsync(REQUEST);
		this.store.last("acquire 3").fail(refusal);
		assertThat(this.engine.status().refusal()).as("refused again").isEqualTo("no right to it");
		this.service.acquireAsync(REQUEST);
		this.store.last("acquire 4").granted(10, 30_000);
		assertThat(this.engine.status().refusal()).as("after a grant").isNull();
	}

	private static StoreCommandException fullMemory() {
		return StoreCommandException.refused("full", true, "full", new IllegalStateException());
	}

	@Test
	@DisplayName("A refused check stays in the status until a successful check or a grant, at most for a minute")
	void refusedCheck() {
		this.engine.examine();
		assertThat(this.engine.status().refusal()).as("no answer yet").isNull();
		this.store.last("write").fail(fullMemory());
		assertThat(this.engine.status().refusal()).isEqualTo("full");
		this.engine.examine();
		assertThat(this.engine.status().refusal()).as("no newer answer yet").isEqualTo("full");
		this.store.last("write").done(null);
		assertThat(this.engine.status().refusal()).as("written").isNull();
		this.engine.examine();
		this.store.last("write").fail(fullMemory());
		this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").granted(10, 30_000);
		assertThat(this.engine.status().refusal()).as("after a grant").isNull();
		this.engine.examine();
		this.store.last("write").fail(fullMemory());
		this.store.elapse(59_000);
		assertThat(this.engine.status().refusal()).as("after less than a minute").isEqualTo("full");
		this.store.elapse(1000);
		assertThat(this.engine.status().refusal()).as("after a minute").isNull();
	}

	@Test
	@DisplayName("A successful check clears only refusals before its start")
	void checkAfterRefusal() {
		this.engine.examine();
		ScriptedStore.Command earlier = this.store.last("write");
		this.store.elapse(1);
		this.service.acquireAsync(REQUEST);
		this.store.last("acquire 1").fail(fullMemory());
		earlier.done(null);
		assertThat(this.engine.status().refusal()).as("begun before").isEqualTo("full");
		this.engine.examine();
		this.store.last("write").done(null);
		assertThat(this.engine.status().refusal()).as("begun after").isNull();
	}

	@Test
	@DisplayName("A renewal counts as failing until a renewal succeeds")
	void failure() {
		granted(REQUEST, 10);
		this.store.elapse(10_000);
		assertThat(failing()).as("sent, no answer yet").isZero();
		this.store.last("renew 1").fail(true);
		assertThat(failing()).isOne();
		this.store.elapse(1000);
		assertThat(failing()).as("sent again").isOne();
		this.store.last("renew 1").renewed(true);
		assertThat(failing()).isZero();
	}

	@Test
	@DisplayName("A renewal without an answer counts as failing from the next renewal on")
	void silence() {
		granted(REQUEST, 10);
		this.store.elapse(10_000);
		ScriptedStore.Command first = this.store.last("renew 1");
		this.store.elapse(5000);
		assertThat(failing()).isOne();
		first.renewed(true);
		assertThat(failing()).isZero();
	}

	@Test
	@DisplayName("A released hold no longer counts as failing")
	void over() {
		LockLease lease = granted(REQUEST, 10);
		this.store.elapse(10_000);
		this.store.last("renew 1").fail(true);
		lease.releaseAsync();
		assertThat(this.engine.status()).isEqualTo(new EngineStatus(false, true, null, null, 0, 0, 0));
	}

}
