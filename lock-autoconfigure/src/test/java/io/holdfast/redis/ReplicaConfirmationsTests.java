package io.holdfast.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions.Replicas;
import io.holdfast.redis.key.TestOptions;
import io.holdfast.redis.script.Script;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.StatefulRedisConnectionImpl;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.cluster.PipelinedRedisFuture;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.willThrow;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.spy;

/**
 * Order and time of held-back replies, on connections of the test.
 */
class ReplicaConfirmationsTests {

	private static final Duration PATIENCE = Duration.ofSeconds(20);

	private static final Granted GRANTED = new Granted(7, 30_000);

	/** Sent commands of all connections. */
	private final BlockingQueue<Sent> sent = new LinkedBlockingQueue<>();

	private final List<FakeConnection> connections = new ArrayList<>();

	private volatile boolean refused;

	private volatile boolean unusable;

	private final DaemonThreads threads = spy(new DaemonThreads());

	@AutoClose
	private final ReplicaConfirmations confirmations = new ReplicaConfirmations(this::connect,
			new Replicas(2, Duration.ofMillis(100)), this.threads);

	private synchronized StatefulRedisConnection<byte[], byte[]> connect() {
		if (this.refused) {
			throw new IllegalStateException("refused");
		}
		FakeConnection connection = new FakeConnection();
		this.connections.add(connection);
		return connection.connection;
	}

	private CompletableFuture<AcquireReply> confirmed(CompletableFuture<AcquireReply> command, String key,
			String holder) {
		RedisKeys keys = RedisKeys.of(new Resource(Kind.LOCK, key), TestOptions.defaults(), false);
		return this.confirmations.confirmed(command, keys, holder);
	}

	private CompletableFuture<AcquireReply> granted(String key) {
		return confirmed(CompletableFuture.completedFuture(GRANTED), key, "token-" + key);
	}

	private Sent sent() throws InterruptedException {
		Sent next = this.sent.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
		assertThat(next).isNotNull();
		return next;
	}

	private static void assertFails(CompletableFuture<AcquireReply> answer, boolean unconfirmed, String text) {
		assertThat(answer).failsWithin(PATIENCE)
			.withThrowableThat()
			.havingCause()
			.isInstanceOfSatisfying(StoreCommandException.class, (failure) -> {
				assertThat(failure.isTemporary()).isTrue();
				assertThat(failure.isWorthWaiting()).isEqualTo(unconfirmed);
			})
			.withMessageContaining(text);
	}

	@Test
	void aGrantIsHeldBackUntilEnoughReplicasHaveIt() throws Exception {
		CompletableFuture<AcquireReply> lock = granted("a");
		Sent first = sent();
		assertThat(first.text()).isEqualTo("lock:a: token-a 30000");
		assertThat(lock).isNotDone();
		first.answer(2, true);
		assertThat(lock).succeedsWithin(PATIENCE).isEqualTo(GRANTED);
		CompletableFuture<AcquireReply> permits = confirmed(CompletableFuture.completedFuture(GRANTED), "p", "token:3");
		Sent second = sent();
		assertThat(second.text()).isEqualTo("lock:p: token:3 30000");
		second.answer(3, true);
		assertThat(permits).succeedsWithin(PATIENCE).isEqualTo(GRANTED);
		assertThat(this.connections).hasSize(1);
	}

	@Test
	void otherAnswersPassAtOnce() {
		Busy busy = new Busy(100, 7, false, null, 0, 0, false);
		assertThat(confirmed(CompletableFuture.completedFuture(busy), "a", "t")).isCompletedWithValue(busy);
		StoreCommandException failure = new StoreCommandException("no", false, null);
		assertThat(confirmed(CompletableFuture.failedFuture(failure), "a", "t")).isCompletedExceptionally();
		assertThat(this.connections).isEmpty();
	}

	@Test
	void whatIsGrantedInBetweenSharesTheNextWait() throws Exception {
		CompletableFuture<AcquireReply> first = granted("a");
		Sent one = sent();
		List<CompletableFuture<AcquireReply>> others = IntStream.range(0, 600).mapToObj((i) -> granted("b")).toList();
		assertThat(this.sent).isEmpty();
		one.answer(1, true);
		assertFails(first, true, "only 1 of its replicas confirmed that, and holdfast.redis.min-replicas is 2");
		Sent many = sent();
		assertThat(many.keys).hasSize(500);
		many.answer(2, true);
		Sent rest = sent();
		assertThat(rest.keys).hasSize(100);
		assertThat(others.subList(0, 500)).allMatch(CompletableFuture::isDone);
		assertThat(others.subList(500, 600)).noneMatch(CompletableFuture::isDone);
		rest.answer(2, true);
		assertThat(others).allSatisfy((one2) -> assertThat(one2).succeedsWithin(PATIENCE).isEqualTo(GRANTED));
	}

	@Test
	void aGrantThatTheServerDoesNotKnowDoesNotCountHoweverManyReplicasAnswer() throws Exception {
		CompletableFuture<AcquireReply> first = granted("a");
		Sent one = sent();
		CompletableFuture<AcquireReply> gone = granted("b");
		CompletableFuture<AcquireReply> there = granted("c");
		one.answer(2, false);
		assertFails(first, true, "gone");
		sent().answer(2, false, true);
		assertFails(gone, true, "gone");
		assertThat(there).succeedsWithin(PATIENCE).isEqualTo(GRANTED);
		assertThat(this.connections).as("a connection each, as each may lead to a former master").hasSize(2);
		assertThat(this.connections).allMatch((connection) -> connection.closed);
	}

	@Test
	void givingUpTheAnswerGivesUpTheCommandAndAsksForNoConfirmation() throws Exception {
		CompletableFuture<AcquireReply> first = granted("a");
		Sent one = sent();
		CompletableFuture<AcquireReply> command = new CompletableFuture<>();
		CompletableFuture<AcquireReply> unanswered = confirmed(command, "b", "t");
		unanswered.cancel(true);
		assertThat(command).isCancelled();
		granted("c").cancel(true);
		CompletableFuture<AcquireReply> last = granted("d");
		one.answer(2, true);
		assertThat(first).succeedsWithin(PATIENCE);
		Sent two = sent();
		assertThat(two.text()).isEqualTo("lock:d: token-d 30000");
		two.answer(2, true);
		assertThat(last).succeedsWithin(PATIENCE);
	}

	@Test
	void silenceIsNoConfirmationAndTheNextOneIsAskedForOnAnotherConnection() throws Exception {
		CompletableFuture<AcquireReply> answer = granted("a");
		sent();
		assertFails(answer, true, "did not say in time");
		assertThat(this.connections.get(0).closed).isTrue();
		CompletableFuture<AcquireReply> next = granted("b");
		sent().answer(2, true);
		assertThat(next).succeedsWithin(PATIENCE);
		assertThat(this.connections).hasSize(2);
	}

	enum Failure {

		NO_THREAD("unable to create native thread"), NO_CONNECTION("refused"), NOT_SENT("not sent"), ERROR("UNBLOCKED");

		private final String text;

		Failure(String text) {
			this.text = text;
		}

	}

	@ParameterizedTest
	@EnumSource
	void aFailureIsToldAndTheNextGrantIsConfirmed(Failure failure) throws Exception {
		if (failure == Failure.NO_THREAD) {
			willThrow(new OutOfMemoryError(failure.text)).willCallRealMethod().given(this.threads).start(any(), any());
		}
		this.refused = failure == Failure.NO_CONNECTION;
		this.unusable = failure == Failure.NOT_SENT;
		CompletableFuture<AcquireReply> answer = granted("a");
		if (failure == Failure.ERROR) {
			Sent command = sent();
			command.stands.complete(List.of(1L));
			command.replicas.completeExceptionally(new IllegalStateException("UNBLOCKED force unblock"));
		}
		assertFails(answer, false, failure.text);
		if (this.refused) {
			assertFails(granted("b"), false, failure.text);
		}
		this.refused = false;
		this.unusable = false;
		CompletableFuture<AcquireReply> next = granted("c");
		sent().answer(2, true);
		assertThat(next).succeedsWithin(PATIENCE).isEqualTo(GRANTED);
	}

	@Test
	void aConnectionIsOpenedBeforehandAndClosedInTheEnd() throws Exception {
		this.confirmations.prepare();
		CompletableFuture<AcquireReply> answer = granted("a");
		sent().answer(2, true);
		assertThat(answer).succeedsWithin(PATIENCE);
		this.confirmations.prepare();
		CompletableFuture<AcquireReply> later = granted("c");
		sent().answer(2, true);
		assertThat(later).succeedsWithin(PATIENCE);
		assertThat(this.connections).as("also at the second preparation").hasSize(1);
		this.confirmations.close();
		assertThat(this.connections.get(0).closed).isTrue();
		assertFailsForGood(granted("b"));
		assertThat(this.connections).hasSize(1);
	}

	private static void assertFailsForGood(CompletableFuture<AcquireReply> answer) {
		assertThat(answer).failsWithin(PATIENCE)
			.withThrowableThat()
			.havingCause()
			.isInstanceOfSatisfying(StoreCommandException.class,
					(failure) -> assertThat(failure.isTemporary()).isFalse());
	}

	private record Sent(List<String> keys, List<String> args, CompletableFuture<List<Long>> stands,
			CompletableFuture<Long> replicas) {

		String text() {
			return String.join(" ", this.keys) + ": " + String.join(" ", this.args);
		}

		void answer(long replicas, Boolean... stands) {
			this.stands.complete(IntStream.range(0, this.keys.size())
				.mapToObj((i) -> stands[Math.min(i, stands.length - 1)] ? 1L : 0L)
				.toList());
			this.replicas.complete(replicas);
		}

	}

	/** Connection to no server. */
	private final class FakeConnection {

		private final StatefulRedisConnectionImpl<byte[], byte[]> connection = mock();

		private final RedisAsyncCommands<byte[], byte[]> commands = mock();

		private volatile boolean closed;

		FakeConnection() {
			given(this.connection.isOpen()).willAnswer((call) -> !this.closed);
			given(this.connection.closeAsync()).willAnswer((call) -> {
				this.closed = true;
				return CompletableFuture.completedFuture(null);
			});
			given(this.connection.async()).willReturn(this.commands);
			given(this.commands.eval(eq(Script.CONFIRM.text()), eq(ScriptOutputType.MULTI), any(byte[][].class),
					any(byte[][].class)))
				.willAnswer((call) -> confirm(call.getArgument(2), texts(call.getRawArguments()[3])));
		}

		private RedisFuture<List<Long>> confirm(byte[][] keys, List<String> args) {
			if (ReplicaConfirmationsTests.this.unusable) {
				throw new IllegalStateException("not sent");
			}
			Sent command = new Sent(texts(keys), args, new CompletableFuture<>(), new CompletableFuture<>());
			RedisFuture<Long> replicas = new PipelinedRedisFuture<>(command.replicas);
			given(this.commands.waitForReplication(2, 100)).willReturn(replicas);
			ReplicaConfirmationsTests.this.sent.add(command);
			return new PipelinedRedisFuture<>(command.stands);
		}

		private static List<String> texts(Object texts) {
			return Arrays.stream((byte[][]) texts).map((text) -> new String(text, StandardCharsets.UTF_8)).toList();
		}

	}

}
