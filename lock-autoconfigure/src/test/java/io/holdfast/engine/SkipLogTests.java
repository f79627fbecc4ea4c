package io.holdfast.engine;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.holdfast.LockHolder;
import io.holdfast.LockRequest;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Log line of a refusal, with and without the name of the holder.
 */
class SkipLogTests extends ScriptedEngine {

	private static final String OTHER = "fedcba9876543210fedcba9876543210";

	private final Logger logger;

	private final @Nullable Level level;

	private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

	SkipLogTests() {
		// Another test may begin to log at the same time.
		this.logger = (Logger) await().pollDelay(Duration.ZERO)
			.until(() -> LoggerFactory.getLogger(SkipLog.class), Logger.class::isInstance);
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

	private void admit(Function<String, @Nullable LockHolder> holders) {
		context().setMembership(new ScriptedMembership(CompletableFuture.completedFuture(null), holders));
		context().setAdmittedUntil(this.store.nanoTime() + Duration.ofMinutes(1).toNanos());
	}

	private void refuse(LockRequest request) {
		this.service.tryAcquireAsync(request);
		this.store.last("acquire 1").done(new Busy(1000, 5, false, OTHER, 0, 0, false));
	}

	private String line() {
		await().untilAsserted(() -> assertThat(this.lines.list).hasSize(1));
		return this.lines.list.get(0).getFormattedMessage();
	}

	@Test
	@DisplayName("The line names the application, host and process of the holder")
	void holder() {
		admit((id) -> id.equals(OTHER) ? new LockHolder("warehouse", "node", 7, Tokens.shown(OTHER)) : null);
		refuse(LockRequest.of("k"));
		assertThat(line()).startsWith("Skipped: Lock 'k' was not acquired")
			.endsWith(". Holder: instance " + Tokens.shown(OTHER) + " (application warehouse, host node, process 7)");
	}

	@Test
	@DisplayName("Without a name of the holder, the line names its instance")
	void unnamed() {
		refuse(LockRequest.of("k"));
		assertThat(line()).startsWith("Skipped: ").contains("instance " + Tokens.shown(OTHER)).doesNotContain("Holder");
	}

	@Test
	@DisplayName("Names of requests and applications do not break the line")
	void oneLine() {
		admit((id) -> new LockHolder("ware\nhouse", "node", 7, Tokens.shown(OTHER)));
		refuse(LockRequest.of("k").name("a\nb"));
		assertThat(line()).startsWith("Skipped a\\u000ab: ")
			.contains("(application ware\\u000ahouse, ")
			.doesNotContain("\n");
	}

}
