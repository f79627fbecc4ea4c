package io.holdfast.observation;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

import com.sun.management.ThreadMXBean;
import io.holdfast.LockRequest;
import io.holdfast.engine.DefaultLockService;
import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler.IgnoredMeters;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.micrometer.tracing.handler.DefaultTracingObservationHandler;
import io.micrometer.tracing.test.simple.SimpleTracer;

/**
 * Cost of observing an uncontended lock in memory: CPU time and bytes for an acquire and
 * release. Run by hand for the numbers in the documentation.
 */
final class ObservationCostMain {

	private static final int CYCLES = 5_000;

	private static final int ROUNDS = 41;

	private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

	private final SimpleTracer tracer = new SimpleTracer();

	private ObservationCostMain() {
	}

	public static void main(String[] args) {
		String[] modes = (args.length > 0) ? args : Mode.names();
		for (String mode : modes) {
			new ObservationCostMain().measure(Mode.valueOf(mode));
		}
	}

	private void measure(Mode mode) {
		try (LeaseEngine engine = new LeaseEngine(new MemoryLeaseStore(new MemoryLeases(System::nanoTime)),
				EngineSettings.defaults())) {
			observe(engine, mode);
			DefaultLockService locks = new DefaultLockService(engine);
			LockRequest request = LockRequest.of("stock:SKU1").name("stock");
			double[] nanos = new double[ROUNDS];
			double[] bytes = new double[ROUNDS];
			for (int round = 0; round < ROUNDS; round++) {
				long allocated = THREADS.getCurrentThreadAllocatedBytes();
				long begun = THREADS.getCurrentThreadCpuTime();
				for (int i = 0; i < CYCLES; i++) {
					locks.acquire(request).release();
					if (i % 50 == 0) {
						// The tracer keeps all spans.
						this.tracer.getSpans().clear();
					}
				}
				nanos[round] = (THREADS.getCurrentThreadCpuTime() - begun) / (double) CYCLES;
				bytes[round] = (THREADS.getCurrentThreadAllocatedBytes() - allocated) / (double) CYCLES;
			}
			System.out.printf(Locale.ROOT, "%-22s %6.0f ns %6.0f bytes%n", mode, least(nanos), least(bytes));
		}
	}

	/** Other load of the machine only adds. */
	private static double least(double[] values) {
		return Arrays.stream(values).min().orElseThrow();
	}

	private void observe(LeaseEngine engine, Mode mode) {
		if (mode == Mode.NONE) {
			return;
		}
		MeterRegistry meters = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
		engine.observe(new LeaseMeters(meters));
		if (mode == Mode.COUNTERS) {
			return;
		}
		ObservationRegistry registry = ObservationRegistry.create();
		registry.observationConfig()
			.observationHandler((mode == Mode.TIMERS_WITHOUT_ACTIVE)
					? new DefaultMeterObservationHandler(meters, IgnoredMeters.LONG_TASK_TIMER)
					: new DefaultMeterObservationHandler(meters));
		if (mode == Mode.TIMERS_AND_SPANS) {
			registry.observationConfig().observationHandler(new DefaultTracingObservationHandler(this.tracer));
		}
		engine.observe(new LeaseObservations(registry));
	}

	private enum Mode {

		NONE, COUNTERS, TIMERS_WITHOUT_ACTIVE, TIMERS, TIMERS_AND_SPANS;

		static String[] names() {
			return Arrays.stream(values()).map(Enum::name).toArray(String[]::new);
		}

	}

}
