package io.holdfast.redis.driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import io.holdfast.redis.script.ScriptCommand;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/**
 * What Lettuce does with the commands of a {@link BatchingScriptSender}: its event loop,
 * which is the test's thread, writes at once what is given there, and later what others
 * give. Each command's last argument is its number, which is also the answer.
 */
class FakeDriver implements BatchingScriptSender.Driver {

	private final Thread eventLoop = Thread.currentThread();

	private final Queue<ScriptCommand> tasks = new ConcurrentLinkedQueue<>();

	private final Queue<ScriptCommand> written = new ConcurrentLinkedQueue<>();

	/** The numbers of what was written. */
	final List<Integer> order = new ArrayList<>();

	volatile int flushes;

	/** What others want to be done at the end of each command. */
	volatile Runnable action = () -> {
	};

	/** What it throws instead of taking a command. */
	volatile @Nullable Throwable refusal;

	@Override
	public void dispatch(ScriptCommand command) {
		dispatch(List.of(command));
	}

	@Override
	public void dispatch(List<ScriptCommand> commands) {
		if (this.refusal instanceof Error error) {
			throw error;
		}
		if (this.refusal instanceof RuntimeException failure) {
			throw failure;
		}
		// Only one thread at a time gives.
		this.flushes = this.flushes + 1;
		for (ScriptCommand command : commands) {
			command.onComplete((reply, error) -> this.action.run());
			if (Thread.currentThread() == this.eventLoop) {
				write(command);
			}
			else {
				this.tasks.add(command);
			}
		}
	}

	/** How many were given and have no answer. */
	int dispatched() {
		return this.tasks.size() + this.written.size();
	}

	/** What the event loop does when it comes to it. */
	void write() {
		for (ScriptCommand task = this.tasks.poll(); task != null; task = this.tasks.poll()) {
			write(task);
		}
	}

	private void write(ScriptCommand command) {
		if (!command.isDone()) {
			command.encode(Unpooled.buffer());
			this.order.add(number(command));
			this.written.add(command);
		}
	}

	/** The first that was written and has no answer. */
	ScriptCommand next() {
		return this.written.remove();
	}

	void answer() {
		ScriptCommand command = this.written.poll();
		if (command != null) {
			command.getOutput().multi(1);
			command.getOutput().set(number(command));
			command.complete();
		}
	}

	void answerAll() {
		write();
		while (!this.written.isEmpty()) {
			answer();
			write();
		}
	}

	private static int number(ScriptCommand command) {
		Object[] args = command.call().args();
		return (Integer) args[args.length - 1];
	}

}
