package io.holdfast.benchmark;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.testing.TestApplication;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;

/**
 * What an annotation costs over the same done by hand: one thread, in memory, so that
 * nothing but the calls is measured.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class AnnotatedCall {

	static final String NAME = "annotated-call";

	private ConfigurableApplicationContext application;

	private LockService locks;

	private Stock stock;

	private final String sku = "SKU0001";

	/**
	 * Start an application without Redis.
	 */
	@Setup(Level.Trial)
	public void start() {
		this.application = TestApplication.start(Application.class, "localhost", 0, "bench:",
				List.of("holdfast.backend=memory", "logging.level.root=warn"));
		this.locks = this.application.getBean(LockService.class);
		this.stock = this.application.getBean(Stock.class);
	}

	/**
	 * Stop it.
	 */
	@TearDown(Level.Trial)
	public void stop() {
		this.application.close();
	}

	/**
	 * A method without a lock.
	 * @return what it returns
	 */
	@Benchmark
	public int plain() {
		return this.stock.count(this.sku);
	}

	/**
	 * A lock taken by hand around it.
	 * @return what it returns
	 */
	@Benchmark
	public int byHand() {
		LockLease lease = this.locks.acquire(LockRequest.of("stock:" + this.sku));
		try {
			return this.stock.count(this.sku);
		}
		finally {
			lease.close();
		}
	}

	/**
	 * A lock taken by an annotation.
	 * @return what it returns
	 */
	@Benchmark
	public int annotated() {
		return this.stock.countLocked(this.sku);
	}

	/**
	 * Run all three, each in a JVM of its own.
	 * @param seconds how long to measure each
	 * @return figures by method
	 */
	static Map<String, Map<String, Double>> measure(int seconds) {
		Options options = new OptionsBuilder().include(AnnotatedCall.class.getName())
			.forks(1)
			.warmupIterations(3)
			.warmupTime(TimeValue.seconds(1))
			.measurementIterations(seconds)
			.measurementTime(TimeValue.seconds(1))
			.addProfiler(GCProfiler.class)
			.shouldFailOnError(true)
			.verbosity(VerboseMode.SILENT)
			.build();
		try {
			Map<String, Map<String, Double>> figures = new LinkedHashMap<>();
			for (RunResult result : new Runner(options).run()) {
				double bytes = Objects.requireNonNull(result.getSecondaryResults().get("gc.alloc.rate.norm"))
					.getScore();
				figures.put(result.getPrimaryResult().getLabel(),
						Map.of("ns/op", result.getPrimaryResult().getScore(), "bytes/op", bytes));
			}
			return figures;
		}
		catch (RunnerException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * An application with one annotated method.
	 */
	@Import({ TestApplication.class, Stock.class })
	static class Application {

	}

	/**
	 * What is called.
	 */
	static class Stock {

		int count(String sku) {
			return sku.length();
		}

		@DistributedLock(key = "'stock:' + #sku")
		int countLocked(String sku) {
			return count(sku);
		}

	}

}
