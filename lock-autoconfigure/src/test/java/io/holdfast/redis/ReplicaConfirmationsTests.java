package io.holdfast.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import io.holdfast.async.DaemonThreads;
import io.holdfast.engine.store.LeaseStore.AcquireReply;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.redis.key.RedisStoreOptions.Replicas;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Which answers are held back until when, on connections that the test answers for.
 */
class ReplicaConfirmationsTests {

	private static final Duration PATIENCE = Duration.ofSeconds(20);

	private static final Granted GRANTED = new Granted(7, 30_000);

	/** What was sent, on whatever connection. */
	private final BlockingQueue<Sent> sent = new LinkedBlockingQueue<>();

	private final List<FakeConnection> connections = new ArrayList<>();

	private volatile boolean refused;

	/** What a connection does, once each, before it is used. */
	private final Queue<Error> errors = new ConcurrentLinkedQueue<>();

	@AutoClose
	private final ReplicaConfirmations confirmations = new ReplicaConfirmations(this::connect,
			new Replicas(2, Duration.ofMillis(100)), new DaemonThreads());

	private synchronized FakeConnection connect() {
		if (this.refused) {
			throw new IllegalStateException("refused");
		}
		failOnce();
		FakeConnection connection = new FakeConnection();
		this.connections.add(connection);
		return connection;
	}

	private void failOnce() {
		Error error = this.errors.poll();
		if (error != null) {
			throw error;
		}
	}

	private CompletableFuture<AcquireReply> granted(String key) {
		return this.confirmations.confirmed(CompletableFuture.completedFuture(GRANTED), key, "token-" + key);
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
		assertThat(first.text()).isEqualTo("a: token-a 30000");
		assertThat(lock).isNotDone();
		first.answer(2, true);
		assertThat(lock).succeedsWithin(PATIENCE).isEqualTo(GRANTED);
		CompletableFuture<AcquireReply> permits = this.confirmations
			.confirmed(CompletableFuture.completedFuture(GRANTED), "p", "token:3");
		Sent second = sent();
		assertThat(second.text()).isEqualTo("p: token:3 30000");
		second.answer(3, true);
		assertThat(permits).succeedsWithin(PATIENCE).isEqualTo(GRANTED);
		assertThat(this.connections).hasSize(1);
	}

	@Test
	void otherAnswersPassAtOnce() {
		Busy busy = new Busy(100, 7, false, null, 0, 0);
		assertThat(this.confirmations.confirmed(CompletableFuture.completedFuture(busy), "a", "t"))
			.isCompletedWithValue(busy);
		StoreCommandException failure = new StoreCommandException("no", false, null);
		assertThat(this.confirmations.confirmed(CompletableFuture.failedFuture(failure), "a", "t"))
			.isCompletedExceptionally();
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
		assertThat(this.connections).as("one each, as each may lead to a former master").hasSize(2);
		assertThat(this.connections).allMatch((connection) -> connection.closed);
	}

	@Test
	void givingUpTheAnswerGivesUpTheCommandAndAsksForNoConfirmation() throws Exception {
		CompletableFuture<AcquireReply> first = granted("a");
		Sent one = sent();
		CompletableFuture<AcquireReply> command = new CompletableFuture<>();
		CompletableFuture<AcquireReply> unanswered = this.confirmations.confirmed(command, "b", "t");
		unanswered.cancel(true);
		assertThat(command).isCancelled();
		granted("c").cancel(true);
		CompletableFuture<AcquireReply> last = granted("d");
		one.answer(2, true);
		assertThat(first).succeedsWithin(PATIENCE);
		Sent two = sent();
		assertThat(two.text()).isEqualTo("d: token-d 30000");
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

	@Test
	void anErrorIsAnswered() throws Exception {
		CompletableFuture<AcquireReply> answer = granted("a");
		sent().answer.completeExceptionally(new IllegalStateException("UNBLOCKED force unblock"));
		assertFails(answer, false, "UNBLOCKED");
		CompletableFuture<AcquireReply> next = granted("b");
		sent().answer(2, true);
		assertThat(next).succeedsWithin(PATIENCE);
	}

	@Test
	void aConnectionThatIsNotToBeHadIsTriedAgainForTheNextGrant() throws Exception {
		this.refused = true;
		assertFails(granted("a"), false, "refused");
		assertFails(granted("b"), false, "refused");
		this.refused = false;
		CompletableFuture<AcquireReply> next = granted("c");
		sent().answer(2, true);
		assertThat(next).succeedsWithin(PATIENCE);
	}

	@Test
	void anErrorOnTheWayToAConnectionIsToldAndTheNextGrantIsConfirmed() throws Exception {
		this.errors.add(new LinkageError("no connection"));
		assertFails(granted("a"), false, "no connection");
		CompletableFuture<AcquireReply> next = granted("b");
		sent().answer(2, true);
		assertThat(next).succeedsWithin(PATIENCE);
	}

	@Test
	void anErrorOnTheWayToTheDriverIsToldAndTheNextGrantIsConfirmed() throws Exception {
		CompletableFuture<AcquireReply> first = granted("a");
		sent().answer(2, true);
		assertThat(first).succeedsWithin(PATIENCE);
		this.errors.add(new LinkageError("not sent"));
		assertFails(granted("b"), false, "not sent");
		CompletableFuture<AcquireReply> next = granted("c");
		sent().answer(2, true);
		assertThat(next).succeedsWithin(PATIENCE);
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
		assertThat(this.connections).as("also when it is prepared again").hasSize(1);
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

	private record Sent(List<String> keys, List<String> args, CompletableFuture<ReplicaConfirmations.Answer> answer) {

		String text() {
			return String.join(" ", this.keys) + ": " + String.join(" ", this.args);
		}

		void answer(long replicas, Boolean... stands) {
			List<Boolean> all = (stands.length == this.keys.size()) ? List.of(stands)
					: this.keys.stream().map((key) -> stands[0]).toList();
			this.answer.complete(new ReplicaConfirmations.Answer(all, replicas));
		}

	}

	private final class FakeConnection implements ReplicaConfirmations.Connection {

		private volatile boolean closed;

		@Override
		public boolean isOpen() {
			return !this.closed;
		}

		@Override
		public CompletableFuture<ReplicaConfirmations.Answer> confirm(byte[][] keys, byte[][] args, int replicas,
				long millis) {
			failOnce();
			assertThat(replicas).isEqualTo(2);
			assertThat(millis).isEqualTo(100);
			Sent command = new Sent(texts(keys), texts(args), new CompletableFuture<>());
			ReplicaConfirmationsTests.this.sent.add(command);
			return command.answer;
		}

		private static List<String> texts(byte[][] texts) {
			return Arrays.stream(texts).map((text) -> new String(text, StandardCharsets.UTF_8)).toList();
		}

		@Override
		public void close() {
			this.closed = true;
		}

	}

}
