package io.holdfast.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.holdfast.LockHolder;
import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.KeyState;
import io.holdfast.engine.store.LeaseStore.PermitHolder;
import io.holdfast.engine.store.LeaseStore.PermitState;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;
import static org.awaitility.Awaitility.await;

/**
 * The holder in the line of a refusal, where others have the key by the time when the
 * line is written.
 */
class RefusalLogTests extends ScriptedEngine {

	private static final String OTHER = "fedcba9876543210fedcba9876543210";

	private static final String NAMED = "instance " + Tokens.shown(OTHER)
			+ " (application warehouse, host node, process 7)";

	private final Logger logger;

	private final @Nullable Level level;

	private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

	RefusalLogTests() {
		// Another test may begin to log at the same time.
		this.logger = (Logger) await().pollDelay(Duration.ZERO)
			.until(() -> LoggerFactory.getLogger(RefusalLog.class), Logger.class::isInstance);
		this.level = this.logger.getLevel();
	}

	@BeforeEach
	void listen() {
		this.lines.start();
		this.logger.addAppender(this.lines);
		this.logger.setLevel(Level.DEBUG);
	}

	@AfterEach
	void stop() {
		this.logger.setLevel(this.level);
		this.logger.detachAppender(this.lines);
	}

	private void nameOthers() {
		context().setMembership(new ScriptedMembership(CompletableFuture.completedFuture(null),
				(id) -> id.equals(OTHER) ? new LockHolder("warehouse", "node", 7, Tokens.shown(OTHER)) : null));
	}

	private String holder() {
		assertThat(this.lines.list).hasSize(1);
		return this.lines.list.get(0).getFormattedMessage().replaceAll(".*[.] Holder: ", "");
	}

	/** Have a request refused, of which the line is not written yet. */
	private void refuse() {
		this.service.tryAcquireAsync(LockRequest.of("k"));
		this.store.last("acquire 1").done(new Busy(1000, 5, false, OTHER, 0, 0));
		assertThat(this.lines.list).isEmpty();
	}

	/** Have this instance acquire the key after that. */
	private LockLease acquire() {
		CompletableFuture<LockLease> lease = this.service.acquireAsync(REQUEST);
		this.store.last("acquire 2").granted(70, 30_000);
		return lease.join();
	}

	private void inspect(@Nullable String owner) {
		this.store.last("inspect").done(new KeyState(owner, 1000, 70, 0, 0, List.of()));
	}

	@Test
	@DisplayName("a holder that is still there is told with its fencing token and its time")
	void stillThere() {
		nameOthers();
		refuse();
		inspect(OTHER + ":1");
		assertThat(holder()).isEqualTo(NAMED + ", fencing token 70, for 1000 ms if not renewed");
	}

	@Test
	@DisplayName("names of requests and applications do not break the line")
	void oneLine() {
		context().setMembership(new ScriptedMembership(CompletableFuture.completedFuture(null),
				(id) -> new LockHolder("ware\nhouse", "node", 7, Tokens.shown(OTHER))));
		this.service.tryAcquireAsync(LockRequest.of("k").name("a\nb"));
		this.store.last("acquire 1").done(new Busy(1000, 5, false, OTHER, 0, 0));
		inspect(OTHER + ":1");
		assertThat(this.lines.list).singleElement()
			.extracting(ILoggingEvent::getFormattedMessage, STRING)
			.startsWith("Skipped a\\u000ab: ")
			.contains("(application ware\\u000ahouse, ")
			.doesNotContain("\n");
	}

	@Test
	@DisplayName("the holder of the refusal is told, not this instance, which has acquired the lock since")
	void ownSince() {
		nameOthers();
		refuse();
		assertThat(acquire().isHeld()).isTrue();
		inspect(ID + ":2");
		assertThat(holder()).isEqualTo(NAMED);
	}

	@Test
	@DisplayName("the holder of the refusal is told if the lock is free by then, or a client other than Holdfast has it")
	void goneSince() {
		nameOthers();
		refuse();
		inspect(null);
		assertThat(holder()).isEqualTo(NAMED);
		this.lines.list.clear();
		this.service.tryAcquireAsync(LockRequest.of("k"));
		this.store.last("acquire 2").done(new Busy(1000, 5, false, OTHER, 0, 0));
		inspect("stranger");
		assertThat(holder()).isEqualTo(NAMED);
	}

	@Test
	@DisplayName("without a name of the holder, a lock that this instance has acquired since has none any more")
	void unnamed() {
		refuse();
		assertThat(acquire().isHeld()).isTrue();
		inspect(ID + ":2");
		assertThat(holder()).isEqualTo("none any more");
	}

	@Test
	@DisplayName("permits that this instance has acquired since are left out, those that it had before are not")
	void permits() {
		SemaphoreRequest request = SemaphoreRequest.of("s", 3);
		CompletableFuture<PermitLease> before = this.semaphores.acquireAsync(request);
		this.store.last("acquire 1").granted(1, 30_000);
		this.store.elapse(1);
		this.semaphores.tryAcquireAsync(request.permits(3));
		this.store.last("acquire 2").done(new Busy(1000, 5, false, null, 3, 3));
		CompletableFuture<PermitLease> since = this.semaphores.acquireAsync(request);
		this.store.last("acquire 3").granted(2, 30_000);
		assertThat(List.of(before.join(), since.join())).allMatch(PermitLease::isHeld);
		this.store.last("inspect permits")
			.done(new PermitState(null, 3, 3, 5,
					List.of(new PermitHolder(ID + ":1", 1, 1000), new PermitHolder(ID + ":3", 1, 1000)), 0));
		assertThat(holder()).isEqualTo("this instance, for 1000 ms if not renewed; 3 more");
	}

}
