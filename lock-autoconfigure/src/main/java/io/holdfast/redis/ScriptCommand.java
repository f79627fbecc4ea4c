package io.holdfast.redis;

import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * The command of a call that is sent by a {@link BatchingWire}, which it tells when the
 * driver has it no more on its way to the connection.
 */
final class ScriptCommand extends AsyncCommand<byte[], byte[], List<@Nullable Object>> {

	private static final AtomicIntegerFieldUpdater<ScriptCommand> UNWRITTEN = AtomicIntegerFieldUpdater
		.newUpdater(ScriptCommand.class, "unwritten");

	private final ScriptCall<?> call;

	private final BatchingWire wire;

	private final long givenAt;

	/** 1 until the driver has written it or will not do so any more. */
	private volatile int unwritten = 1;

	ScriptCommand(ScriptCall<?> call, BatchingWire wire, long givenAt) {
		super(new Command<>(CommandType.EVALSHA, new ScriptReply(),
				new ScriptArguments(call.script().digest(), call.keys(), call.args())));
		this.call = call;
		this.wire = wire;
		this.givenAt = givenAt;
	}

	ScriptCall<?> call() {
		return this.call;
	}

	/** When it was given to the driver, by the clock of its wire. */
	long givenAt() {
		return this.givenAt;
	}

	/** By the event loop, again for another connection. */
	@Override
	public void encode(ByteBuf buffer) {
		super.encode(buffer);
		if (UNWRITTEN.getAndSet(this, 0) > 0) {
			this.wire.written(Thread.currentThread());
		}
	}

	/** It is done: the driver writes none that is. */
	void done() {
		if (UNWRITTEN.getAndSet(this, 0) > 0) {
			this.wire.dropped();
		}
	}

	// As for Lettuce, it is the same as what it wraps.

	@Override
	public boolean equals(@Nullable Object other) {
		return super.equals(other);
	}

	@Override
	public int hashCode() {
		return super.hashCode();
	}

}
