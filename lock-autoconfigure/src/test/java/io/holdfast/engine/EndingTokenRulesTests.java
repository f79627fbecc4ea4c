package io.holdfast.engine;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.holdfast.LockLease;
import io.holdfast.engine.store.HandOverLimits;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

import static io.holdfast.engine.Locks.lock;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Wake-ups for a lost token, before the command that ends the token is sent.
 */
class EndingTokenRulesTests extends ScriptedEngine {

	private static final String TOKEN = ID + ":1";

	EndingTokenRulesTests() {
		super(Settings.with(STRICT, new HandOverLimits(16, Duration.ofMinutes(1))));
	}

	/**
	 * Run an action, and a message when the action logs a loss: before the command that
	 * ends the token.
	 */
	private void whenLost(Runnable message, Runnable action) {
		AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {

			@Override
			protected void append(ILoggingEvent event) {
				if (event.getFormattedMessage().contains("was lost")) {
					message.run();
				}
			}

		};
		Logger logger = (Logger) LoggerFactory.getLogger("io.holdfast");
		appender.start();
		logger.addAppender(appender);
		try {
			action.run();
		}
		finally {
			logger.detachAppender(appender);
		}
	}

	@Test
	@DisplayName("A late wake-up during a forced release sends no release")
	void forced() {
		LockLease lease = granted(REQUEST, 100);
		this.store.sent();
		this.store.answerAtOnce("inspect", (command) -> command.owned(TOKEN));
		this.store.answerAtOnce("force 1", (command) -> command.forced(true));
		whenLost(this::wakeUp, () -> this.service.forceRelease("k"));
		assertThat(lease.isHeld()).isFalse();
		assertThat(this.store.sent()).containsExactly("inspect", "force 1");
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@DisplayName("A late wake-up does not release a lease that a shutdown leaves to running code, or retains")
	void shutDown(boolean forCode) {
		LockLease lease = granted(forCode ? REQUEST.forCode() : REQUEST.minHold(Duration.ofSeconds(20)), 100);
		assertThat(this.engine.shutDown(Duration.ofSeconds(1))).isNotDone();
		this.store.sent();
		whenLost(this::wakeUp, () -> this.store.elapse(1000));
		assertThat(lease.isHeld()).isFalse();
		assertThat(this.store.sent()).noneMatch((line) -> line.startsWith("release"));
	}

	@Test
	@DisplayName("After a forced release, a token with an unanswered acquire is released: it may hold the lock again")
	void forcedWithDoubt() {
		this.service.acquireAsync(REQUEST);
		wakeUp();
		this.store.sent();
		this.store.wakeUps.ended(TOKEN, 164);
		assertThat(this.store.sent()).containsExactly("release 1");
	}

	@Test
	@DisplayName("After a forced release, nothing is sent for a token without an unanswered acquire")
	void forcedWithoutDoubt() {
		granted(REQUEST, 100);
		this.store.sent();
		this.store.wakeUps.ended(TOKEN, 164);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	@DisplayName("The message of an older forced release does not free the key within the loss margin")
	void forcedBeforeTheGrant() {
		CompletableFuture<LockLease> answer = this.service.acquireAsync(REQUEST.lossMargin(Duration.ofSeconds(1)));
		this.store.wakeUps.granted(lock("k"), TOKEN, 100, 9_000);
		LockLease lease = answer.join();
		this.store.elapse(8_000);
		assertThat(lease.isHeld()).isFalse();
		this.store.sent();
		this.store.wakeUps.ended(TOKEN, 64);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	@DisplayName("A shutdown also waits for the second release of a token")
	void secondRelease() {
		granted(REQUEST, 100).releaseAsync();
		this.store.elapse(1000);
		wakeUp();
		ScriptedStore.Command second = this.store.last("release 1");
		this.store.elapse(900);
		ScriptedStore.Command repetition = this.store.last("release 1");
		assertThat(repetition).isNotSameAs(second);
		repetition.released(true);
		CompletableFuture<?> shutDown = this.engine.shutDown(Duration.ZERO);
		assertThat(shutDown).isNotDone();
	}

	private void wakeUp() {
		this.store.wakeUps.granted(lock("k"), TOKEN, 100, 5_000);
	}

}
