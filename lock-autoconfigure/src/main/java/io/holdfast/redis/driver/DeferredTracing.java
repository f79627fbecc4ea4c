package io.holdfast.redis.driver;

import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

import io.holdfast.async.DaemonThreads;
import io.lettuce.core.protocol.CommandWrapper;
import io.lettuce.core.protocol.CompleteableCommand;
import io.lettuce.core.protocol.RedisCommand;
import io.lettuce.core.tracing.TraceContext;
import io.lettuce.core.tracing.TraceContextProvider;
import io.lettuce.core.tracing.Tracer;
import io.lettuce.core.tracing.TracerProvider;
import io.lettuce.core.tracing.Tracing;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The application's tracing of commands, on a thread of its own. Lettuce would call the
 * application's observation handlers on the event loop, where a slow one keeps all
 * commands from being sent. The parent of a span is that of the thread that sends the
 * command. Thread-safe.
 */
final class DeferredTracing implements Tracing {

	private static final Log logger = LogFactory.getLog(DeferredTracing.class);

	/** The number of waiting events after which new spans are left out. */
	private static final int BACKLOG = 10_000;

	private final Tracing tracing;

	/** One, so that the events of a span keep their order. */
	private final ThreadPoolExecutor thread;

	private final AtomicBoolean warned = new AtomicBoolean();

	/**
	 * Create the tracing.
	 * @param tracing the application's
	 * @param threads makes the thread
	 */
	DeferredTracing(Tracing tracing, DaemonThreads threads) {
		this.tracing = tracing;
		this.thread = new ThreadPoolExecutor(1, 1, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(),
				(task) -> threads.create(task, "holdfast-traces"), new ThreadPoolExecutor.DiscardPolicy());
		this.thread.allowCoreThreadTimeOut(true);
	}

	/** End the thread when all events are told. */
	void shutdown() {
		this.thread.shutdown();
	}

	@Override
	public TracerProvider getTracerProvider() {
		Tracer tracer = this.tracing.getTracerProvider().getTracer();
		return () -> new DeferredTracer(tracer);
	}

	@Override
	public TraceContextProvider initialTraceContextProvider() {
		return this.tracing.initialTraceContextProvider();
	}

	@Override
	public boolean isEnabled() {
		return this.tracing.isEnabled();
	}

	@Override
	public boolean includeCommandArgsInSpanTags() {
		return this.tracing.includeCommandArgsInSpanTags();
	}

	@Override
	public Endpoint createEndpoint(SocketAddress address) {
		return this.tracing.createEndpoint(address);
	}

	/** Return whether to leave a span out, as too much waits to be told. */
	private boolean leaveOut() {
		if (this.thread.getQueue().size() < BACKLOG) {
			return false;
		}
		if (this.warned.compareAndSet(false, true)) {
			logger.warn("The observation handlers of Redis commands are too slow: some commands of Holdfast are not"
					+ " observed; the leases are not affected");
		}
		return true;
	}

	private static void run(Runnable event) {
		try {
			event.run();
		}
		catch (RuntimeException | Error ex) {
			logger.warn("An observation handler of a Redis command failed", ex);
		}
	}

	private final class DeferredTracer extends Tracer {

		private final Tracer tracer;

		DeferredTracer(Tracer tracer) {
			this.tracer = tracer;
		}

		@Override
		public Span nextSpan() {
			return new DeferredSpan(this.tracer.nextSpan());
		}

		@Override
		public Span nextSpan(TraceContext context) {
			return new DeferredSpan(this.tracer.nextSpan(context));
		}

	}

	/** A span whose events are told later. */
	private final class DeferredSpan extends Tracer.Span {

		private final Tracer.Span span;

		private final boolean leftOut = leaveOut();

		DeferredSpan(Tracer.Span span) {
			this.span = span;
		}

		private Tracer.Span later(Runnable event) {
			if (!this.leftOut) {
				DeferredTracing.this.thread.execute(() -> DeferredTracing.run(event));
			}
			return this;
		}

		@Override
		public Tracer.Span start(RedisCommand<?, ?, ?> command) {
			ObservedCommand<?, ?, ?> observed = new ObservedCommand<>(command);
			if (command instanceof CompleteableCommand<?> completeable) {
				// Not later, when it may have been completed.
				completeable.onComplete((value, error) -> later(() -> observed.completed(error)));
			}
			return later(() -> this.span.start(observed));
		}

		@Override
		public Tracer.Span name(String name) {
			this.span.name(name);
			return this;
		}

		@Override
		public Tracer.Span annotate(String value) {
			return later(() -> this.span.annotate(value));
		}

		@Override
		public Tracer.Span tag(String key, String value) {
			return later(() -> this.span.tag(key, value));
		}

		@Override
		public Tracer.Span error(Throwable error) {
			return later(() -> this.span.error(error));
		}

		@Override
		public Tracer.Span remoteEndpoint(Endpoint endpoint) {
			this.span.remoteEndpoint(endpoint);
			return this;
		}

		@Override
		public void finish() {
			later(this.span::finish);
		}

	}

	/** A command whose completion is told later. Confined to the thread. */
	private static final class ObservedCommand<K, V, T> extends CommandWrapper<K, V, T> {

		private final List<Consumer<@Nullable Throwable>> actions = new ArrayList<>(1);

		ObservedCommand(RedisCommand<K, V, T> command) {
			super(command);
		}

		@Override
		public void onComplete(Consumer<? super T> action) {
			this.actions.add((error) -> action.accept(value()));
		}

		@Override
		public void onComplete(BiConsumer<? super T, Throwable> action) {
			this.actions.add((error) -> action.accept(value(), error));
		}

		private @Nullable T value() {
			return (getOutput() != null) ? getOutput().get() : null;
		}

		void completed(@Nullable Throwable error) {
			this.actions.forEach((action) -> run(() -> action.accept(error)));
		}

	}

}
