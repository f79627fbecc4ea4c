package io.holdfast.redis.driver;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

import io.holdfast.redis.script.Script;
import io.holdfast.redis.script.ScriptCall;
import io.holdfast.redis.script.ScriptCommand;
import io.lettuce.core.RedisException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.netty.util.concurrent.FastThreadLocalThread;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * When commands leave, together with which, and in which order.
 */
class BatchingScriptSenderTests {

	private static final int FEW = BatchingScriptSender.FEW;

	private final AtomicLong clock = new AtomicLong(-5);

	private final FakeDriver driver = new FakeDriver();

	private BatchingScriptSender sender;

	private int calls;

	private boolean broken;

	@BeforeEach
	@SuppressWarnings("unchecked")
	void open() {
		RedisClusterAsyncCommands<byte[], byte[]> unused = (RedisClusterAsyncCommands<byte[], byte[]>) Proxy
			.newProxyInstance(getClass().getClassLoader(), new Class<?>[] { RedisClusterAsyncCommands.class },
					(proxy, method, args) -> {
						throw new UnsupportedOperationException(method.getName());
					});
		this.sender = new BatchingScriptSender(unused, this.driver, null, this::now, Runnable::run);
	}

	@Test
	@DisplayName("a command that meets no others leaves at once")
	void leavesAlone() {
		assertLeaveAlone(3 * FEW);
		assertThat(this.driver.flushes).isEqualTo(3 * FEW);
	}

	@Test
	@DisplayName("a few leave one by one, those that follow together with the next answer, in their order")
	void leaveTogether() {
		send(FEW);
		assertThat(this.driver.flushes).isEqualTo(FEW);
		List<ScriptCall<Object>> late = send(5);
		assertThat(this.driver.dispatched()).isEqualTo(FEW);
		this.driver.answer();
		assertThat(this.driver.flushes).isEqualTo(FEW + 1);
		this.driver.answerAll();
		assertThat(late).allMatch(ScriptCall::isDone);
		assertThat(this.driver.order).isSorted().hasSize(FEW + 5);
	}

	@Test
	@DisplayName("after a moment in which nothing left, the next one takes all along that wait")
	void leaveWithTheNextAfterPause() {
		send(FEW + 2);
		this.clock.addAndGet(BatchingScriptSender.SHORTEST_PAUSE - 1);
		send();
		assertThat(this.driver.dispatched()).isEqualTo(FEW);
		this.clock.incrementAndGet();
		send();
		assertThat(this.driver.dispatched()).isEqualTo(FEW + 4);
		assertThat(this.driver.flushes).isEqualTo(FEW + 1);
	}

	@Test
	@DisplayName("with many unanswered, answers that follow each other at once do not split those that wait")
	void answersInARow() {
		send(FEW);
		this.clock.addAndGet(BatchingScriptSender.SHORTEST_PAUSE);
		send(1);
		send(10);
		this.driver.answer();
		assertThat(this.driver.dispatched()).isEqualTo(FEW);
		this.clock.addAndGet(BatchingScriptSender.SHORTEST_PAUSE);
		this.driver.answer();
		assertThat(this.driver.dispatched()).isEqualTo(FEW - 1 + 10);
	}

	@Test
	@DisplayName("commands wait for a share of the time that an answer takes, not for longer than a millisecond")
	void longerPause() {
		for (int i = 0; i < 500; i++) {
			send();
			this.clock.addAndGet(2_000_000);
			this.driver.answer();
		}
		assertPause(450_000, 500_000);
		for (int i = 0; i < 500; i++) {
			send();
			this.clock.addAndGet(100_000_000);
			this.driver.answer();
		}
		assertPause(950_000, 1_000_000);
	}

	private void assertPause(long least, long most) {
		send(FEW);
		this.clock.addAndGet(least);
		send();
		assertThat(this.driver.dispatched()).isEqualTo(FEW);
		this.clock.addAndGet(most - least);
		send();
		assertThat(this.driver.dispatched()).isEqualTo(FEW + 2);
		this.driver.answerAll();
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("whatever becomes of the commands that left, those that wait leave")
	void nothingStays(End end) {
		send(FEW);
		List<ScriptCall<Object>> late = send(3);
		for (int i = 0; i < FEW; i++) {
			end.of(this.driver);
		}
		assertThat(this.driver.dispatched()).isEqualTo(3);
		this.driver.answerAll();
		assertThat(late).allMatch((call) -> !call.isCompletedExceptionally());
		assertLeaveAlone(3);
	}

	@Test
	@DisplayName("a call that is given up while it waits is never sent")
	void givenUp() {
		send(FEW);
		ScriptCall<Object> late = send();
		ScriptCall<Object> later = send();
		late.cancel(true);
		this.driver.answerAll();
		assertThat(this.driver.order).hasSize(FEW + 1);
		assertThat(later).isCompletedWithValue((long) FEW + 2);
	}

	@Test
	@DisplayName("a driver that takes no command fails those that it was to take, and the next ones leave")
	void driverRefuses() {
		for (Throwable refusal : List.of(new RedisException("the queue is full"), new NoClassDefFoundError("gone"))) {
			this.driver.refusal = refusal;
			assertThat(send()).isCompletedExceptionally();
			this.driver.refusal = null;
			assertLeaveAlone(3);
			send(FEW);
			List<ScriptCall<Object>> late = send(3);
			this.driver.refusal = refusal;
			this.driver.answer();
			assertThat(late).allMatch(ScriptCall::isCompletedExceptionally);
			this.driver.refusal = null;
			this.driver.answerAll();
			assertLeaveAlone(3);
		}
	}

	@Test
	@DisplayName("what is done about a refused command may send another and wait for it")
	void sentByRefusal() {
		this.driver.refusal = new RedisException("the queue is full");
		List<Object> seen = new ArrayList<>();
		ScriptCall<Object> refused = call(++this.calls);
		refused.whenComplete((reply, error) -> {
			this.driver.refusal = null;
			ScriptCall<Object> next = send();
			this.driver.answerAll();
			seen.add(next.getNow("not answered"));
		});
		this.sender.send(refused);
		assertThat(seen).containsExactly((long) this.calls);
	}

	@Test
	@DisplayName("the driver stops its time-out when a command is over, or at once if it is")
	void driverLearnsOfEnd() {
		ScriptCall<Object> call = call(7);
		ScriptCommand command = new ScriptCommand(call, this.sender, null);
		List<Object> ends = new ArrayList<>();
		command.onComplete((reply, error) -> ends.add(reply));
		command.onComplete((List<Object> reply) -> ends.add("only if answered"));
		command.completeExceptionally(new RedisException("away"));
		assertThat(ends).containsExactly((Object) null);
		assertThat(command.completeExceptionally(new RedisException("again"))).isFalse();
		command.cancel();
		assertThat(command.isCancelled()).isFalse();
		command.onComplete((reply, error) -> ends.add(error.getMessage()));
		assertThat(ends).containsExactly(null, "away");
	}

	@Test
	@DisplayName("what a handler does at the end of a command, and fails, is no trouble for others")
	void actionFails() {
		this.driver.action = () -> {
			throw new NoClassDefFoundError("a handler's own");
		};
		for (End end : End.values()) {
			for (int i = 0; i < 2 * FEW; i++) {
				ScriptCall<Object> call = send();
				end.of(this.driver);
				assertThat(call).isDone();
			}
		}
		this.driver.action = () -> {
		};
		assertLeaveAlone(3);
		send(FEW);
		send(3);
		assertThat(this.driver.dispatched()).isEqualTo(FEW);
	}

	@Test
	@DisplayName("memory that is full while commands are given hinders those that come later no more")
	void memoryFull() {
		this.broken = true;
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(this::send);
		this.broken = false;
		ScriptCall<Object> next = send();
		this.driver.answerAll();
		assertThat(next).isCompletedWithValue((long) this.calls);
		assertLeaveAlone(3);
	}

	@Test
	@DisplayName("nor does an event loop overtake that is not known yet")
	void unknownEventLoop() throws Exception {
		onAnotherThread(this::send);
		Thread loop = new FastThreadLocalThread(this::send);
		loop.start();
		loop.join(TimeUnit.SECONDS.toMillis(10));
		assertThat(this.driver.dispatched()).isEqualTo(1);
		this.driver.answerAll();
		assertThat(this.driver.order).containsExactly(1, 2);
	}

	@Test
	@DisplayName("the end fails what waits and what comes")
	void closed() {
		send(FEW);
		ScriptCall<Object> late = send();
		this.sender.close();
		assertThat(late).isCompletedExceptionally();
		assertThat(send()).isCompletedExceptionally();
		this.driver.answerAll();
		assertThat(this.driver.order).hasSize(FEW);
	}

	@Test
	@DisplayName("what an answer leads to leaves with what waits, behind it")
	void sentByAnswer() {
		ScriptCall<Object> first = send();
		List<ScriptCall<Object>> next = new ArrayList<>();
		first.thenRun(() -> next.add(send()));
		send(FEW - 1);
		send(2);
		this.driver.answer();
		assertThat(this.driver.flushes).isEqualTo(FEW + 1);
		this.driver.answerAll();
		assertThat(next.get(0)).isCompletedWithValue((long) FEW + 3);
		assertThat(this.driver.order).isSorted();
	}

	@Test
	@DisplayName("the event loop does not overtake what other threads gave to the driver before")
	void noOvertaking() throws Exception {
		assertLeaveAlone(3);
		int before = this.driver.order.size();
		onAnotherThread(this::send);
		ScriptCall<Object> mine = send();
		assertThat(this.driver.dispatched()).isEqualTo(1);
		this.driver.write();
		this.driver.answer();
		assertThat(this.driver.dispatched()).isEqualTo(1);
		this.driver.answer();
		assertThat(mine).isDone();
		assertThat(this.driver.order).isSorted().hasSize(before + 2);
	}

	@Test
	@DisplayName("nor does it wait for one that was given up before it was written")
	void givenUpUnwritten() throws Exception {
		assertLeaveAlone(3);
		List<ScriptCall<Object>> others = new ArrayList<>();
		onAnotherThread(() -> others.add(send()));
		ScriptCall<Object> mine = send();
		others.get(0).cancel(true);
		this.driver.answerAll();
		assertThat(mine).isDone();
	}

	@Test
	@DisplayName("many threads at once: each call is answered, each thread's in their order, none twice")
	void manyThreads() throws Exception {
		int threads = 8;
		int each = 2_000;
		CountDownLatch sent = new CountDownLatch(threads);
		List<ScriptCall<Object>> all = Collections.synchronizedList(new ArrayList<>());
		BatchingScriptSender sender = this.sender;
		for (int t = 0; t < threads; t++) {
			int thread = t;
			new Thread(() -> {
				for (int i = 0; i < each; i++) {
					ScriptCall<Object> call = call(thread * each + i);
					all.add(call);
					sender.send(call);
					if (i % 7 == 0) {
						call.cancel(true);
					}
				}
				sent.countDown();
			}).start();
		}
		while (sent.getCount() > 0) {
			this.clock.addAndGet(1000);
			this.driver.write();
			this.driver.answer();
		}
		this.driver.answerAll();
		assertThat(all).hasSize(threads * each).allMatch(ScriptCall::isDone);
		for (int t = 0; t < threads; t++) {
			int thread = t;
			assertThat(this.driver.order.stream().filter((number) -> number / each == thread)).isSorted()
				.doesNotHaveDuplicates();
		}
	}

	private void assertLeaveAlone(int times) {
		for (int i = 0; i < times; i++) {
			ScriptCall<Object> call = send();
			assertThat(this.driver.dispatched()).isEqualTo(1);
			this.driver.answer();
			assertThat(call).isCompletedWithValue((long) this.calls);
		}
	}

	private long now() {
		if (this.broken) {
			throw new OutOfMemoryError("on purpose");
		}
		return this.clock.get();
	}

	private static void onAnotherThread(Runnable action) throws InterruptedException {
		Thread thread = new Thread(action);
		thread.start();
		thread.join(TimeUnit.SECONDS.toMillis(10));
		assertThat(thread.isAlive()).isFalse();
	}

	private List<ScriptCall<Object>> send(int times) {
		List<ScriptCall<Object>> calls = new ArrayList<>();
		for (int i = 0; i < times; i++) {
			calls.add(send());
		}
		return calls;
	}

	private ScriptCall<Object> send() {
		ScriptCall<Object> call = call(++this.calls);
		this.sender.send(call);
		return call;
	}

	private static ScriptCall<Object> call(int number) {
		return new ScriptCall<>(Script.PING, new byte[0][], new Object[] { number }, (reply) -> reply.get(0),
				(error) -> new IllegalStateException(error));
	}

	/** How a command may end. */
	enum End {

		ANSWERED(FakeDriver::answer),

		FAILED((driver) -> driver.next().completeExceptionally(new RedisException("away"))),

		CANCELLED((driver) -> driver.next().cancel()),

		GIVEN_UP((driver) -> driver.next().call().cancel(true));

		private final Consumer<FakeDriver> action;

		End(Consumer<FakeDriver> action) {
			this.action = action;
		}

		void of(FakeDriver driver) {
			this.action.accept(driver);
		}

	}

}
