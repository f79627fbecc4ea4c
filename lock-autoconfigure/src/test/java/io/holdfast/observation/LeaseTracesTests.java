package io.holdfast.observation;

import java.util.List;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.DefaultTracingObservationHandler;
import io.micrometer.tracing.test.simple.SimpleSpan;
import io.micrometer.tracing.test.simple.SimpleTracer;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Spans of requests and of leases.
 */
class LeaseTracesTests {

	private final SimpleTracer tracer = new SimpleTracer();

	private final ObservationRegistry registry = ObservationRegistry.create();

	@AutoClose
	private final ObservedInstance instance = new ObservedInstance(ObservedInstance.memory());

	@BeforeEach
	void observe() {
		this.registry.observationConfig().observationHandler(new DefaultTracingObservationHandler(this.tracer));
		this.instance.engine.observe(new LeaseObservations(this.registry));
	}

	private SimpleSpan span(String name) {
		List<SimpleSpan> found = this.tracer.getSpans().stream().filter((span) -> name.equals(span.getName())).toList();
		assertThat(found).hasSize(1);
		return found.get(0);
	}

	@Test
	void aSpanWithoutAnObservationIsTheParentOfWhatItsThreadAsksForAndOfNothingElse() {
		LockLease lease = this.instance.locks.acquire("k");
		this.instance.locks.acquireAsync(LockRequest.of("k"));
		// Two spans belong to the first request.
		await().until(() -> this.tracer.getSpans().size() == 3);
		this.tracer.getSpans().clear();
		SimpleSpan own = within(() -> this.instance.locks.acquire(LockRequest.of("other")));
		assertThat(span("lock acquire").getParentId()).isEqualTo(own.getSpanId());
		this.tracer.getSpans().clear();
		SimpleSpan stranger = within(lease::release);
		this.instance.locks.forceRelease("k");
		await().until(() -> !holds().isEmpty());
		assertThat(span("lock hold").getTraceId()).isNotEqualTo(stranger.getTraceId());
	}

	private List<SimpleSpan> holds() {
		return List.copyOf(this.tracer.getSpans())
			.stream()
			.filter((span) -> "lock hold".equals(span.getName()))
			.toList();
	}

	private SimpleSpan within(Runnable action) {
		SimpleSpan span = this.tracer.nextSpan().name("span").start();
		Tracer.SpanInScope scope = this.tracer.withSpan(span);
		action.run();
		scope.close();
		span.end();
		return span;
	}

}
