package io.holdfast.redis;

import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;

import org.jspecify.annotations.Nullable;

import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisScriptingCommands;
import org.springframework.data.redis.connection.ReturnType;

/**
 * Runs scripts by a driver that blocks, on threads of its own. Each call takes a
 * connection for itself, so their order is lost.
 */
final class BlockingScriptExecutor implements ScriptExecutor {

	private final RedisConnectionFactory factory;

	private final DriverThreads threads;

	private final AtomicLong reconnects = new AtomicLong();

	BlockingScriptExecutor(RedisConnectionFactory factory) {
		this.factory = factory;
		this.threads = new DriverThreads(Drivers.isCluster(factory) ? new ClusterNodes(factory) : null);
	}

	@Override
	public void prepare() {
		this.threads.prepare();
	}

	@Override
	public long reconnects() {
		// Several connections: what is given up may run behind newer calls at any time.
		return this.reconnects.incrementAndGet();
	}

	@Override
	public void execute(ScriptCall<?> call) {
		try {
			this.threads.execute(call.keys(), () -> run(call));
		}
		catch (RejectedExecutionException ex) {
			call.fail(RedisFailures.closed());
		}
	}

	private void run(ScriptCall<?> call) {
		if (!call.isDone()) {
			callDriver(call);
		}
	}

	private void callDriver(ScriptCall<?> call) {
		List<?> reply;
		// Not through the template: see LettuceScriptExecutor.
		try (RedisConnection connection = this.factory.getConnection()) {
			reply = run(connection.scriptingCommands(), call);
		}
		catch (RuntimeException | LinkageError ex) {
			call.fail(ex);
			return;
		}
		if (reply != null) {
			call.mayBeRepeated();
			call.succeed(reply);
		}
	}

	private @Nullable List<?> run(RedisScriptingCommands commands, ScriptCall<?> call) {
		byte[][] keysAndArgs = new byte[call.keys().length + call.args().length][];
		System.arraycopy(call.keys(), 0, keysAndArgs, 0, call.keys().length);
		System.arraycopy(call.args(), 0, keysAndArgs, call.keys().length, call.args().length);
		if (call.isDone()) {
			return null;
		}
		try {
			return commands.evalSha(call.script().digest(), ReturnType.MULTI, call.keys().length, keysAndArgs);
		}
		catch (RuntimeException ex) {
			if (!RedisFailures.isUnknownScript(ex)) {
				throw ex;
			}
		}
		if (call.isDone()) {
			return null;
		}
		return commands.eval(call.script().text(), ReturnType.MULTI, call.keys().length, keysAndArgs);
	}

	@Override
	public void close() {
		this.threads.close();
	}

}
