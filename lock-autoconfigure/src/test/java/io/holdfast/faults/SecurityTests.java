package io.holdfast.faults;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.testing.TestApplication;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowable;

/**
 * Effects of users' text, and disclosure of secrets.
 */
class SecurityTests extends FaultTestCase {

	private static final Pattern TOKEN = Pattern.compile("\\b[0-9a-f]{32}\\b");

	private Instance instance;

	@BeforeEach
	void start() {
		this.instance = this.fleet.start(Application.class, "secret.setting=revealed");
	}

	private Set<String> keys() {
		return this.fleet.observer().keys("*" + this.redis.keyPrefix() + "*");
	}

	@Test
	@DisplayName("Any value is plain text for Redis, and is not evaluated")
	void valuesAreText() {
		this.fleet.observer().opsForValue().set(this.redis.keyPrefix() + "bystander", "untouched");
		List<String> values = List.of("T(java.lang.System).setProperty('holdfast.pwned', 'yes')", "#{systemProperties}",
				"${secret.setting}", "#root.target", "'a' + 'b'", "{0}", "%s%n", "*", "?[a-z]\\",
				"x') redis.call('FLUSHALL') --", "]] os.exit() [[", "$9", "ключ 鍵 🔒", "a:b:c", "a,b");
		for (String value : values) {
			assertThat(worker().locked(value)).isEqualTo(value);
			assertThat(worker().joined(value)).isEqualTo("joined " + value);
		}
		assertThat(System.getProperty("holdfast.pwned")).isNull();
		assertThat(this.fleet.observer().opsForValue().get(this.redis.keyPrefix() + "bystander"))
			.isEqualTo("untouched");
		assertThat(keys()).filteredOn((key) -> key.endsWith(":fence"))
			.containsExactlyInAnyOrderElementsOf(values.stream()
				.flatMap((value) -> Stream.of(fenceKey(value), fenceKey("joined:" + value)))
				.toList());
	}

	/** Beside a key with a hash tag of its own there are no further braces. */
	private String fenceKey(String key) {
		String lock = this.fleet.lockKey(key);
		return (key.contains("{") ? lock : "{" + lock + "}") + ":fence";
	}

	@Test
	@DisplayName("Control characters and halves of characters are refused, and nothing gets to Redis")
	void controlCharacters() {
		for (String value : List.of("a\nb", "a\r\nSET x y", "\0", "a\037b", "a\036b", "tab\t", "a\u0085", "\ud800")) {
			assertThatIllegalArgumentException().isThrownBy(() -> worker().locked(value)).withMessageContaining("key");
			assertThatIllegalArgumentException().isThrownBy(() -> this.instance.acquire(value));
			assertThatIllegalArgumentException().isThrownBy(() -> SemaphoreRequest.of(value, 1));
		}
		assertThat(keys()).filteredOn((key) -> !key.endsWith("holdfast:fleet")).isEmpty();
	}

	@Test
	@DisplayName("Two values that are joined to a key make another key for each pair")
	void joinedWithoutAmbiguity() {
		try (LockLease first = this.instance.acquire(LockRequest.ofAll(List.of("a,b", "c")))) {
			assertThat(first.isHeld()).isTrue();
			this.fleet.start().acquire(LockRequest.ofAll(List.of("a", "b,c"))).release();
		}
	}

	@Test
	@DisplayName("Scripts are constants: they run no text as code, and name no keys of their own")
	void scripts() throws IOException {
		Resource[] scripts = new PathMatchingResourcePatternResolver()
			.getResources("classpath*:io/holdfast/redis/*.lua");
		assertThat(scripts).hasSizeGreaterThan(10);
		for (Resource script : scripts) {
			String text = script.getContentAsString(StandardCharsets.UTF_8);
			assertThat(text).as(script.getFilename())
				.doesNotContainPattern("\\b(loadstring|load|dofile|setfenv|getfenv)\\s*\\(")
				.doesNotContainPattern("(?i)redis\\.p?call\\('(EVAL|EVALSHA|SCRIPT|CONFIG|FLUSH|KEYS)")
				.doesNotContainPattern("redis\\.p?call\\('[A-Za-z]+', *'(?!(USAGE|NUMSUB|replication|0)')");
		}
	}

	@Test
	@DisplayName("No exception, lease, status or property of JMX contains a token or an id")
	void tokens() {
		List<String> texts = new ArrayList<>();
		Instance other = this.fleet.start();
		try (LockLease lease = this.instance.acquire("k");
				PermitLease permit = this.instance.acquire(SemaphoreRequest.of("s", 1))) {
			Stream<Object> values = Stream.of(lease, permit, lease.fencingToken(), this.instance.locks().status("k"),
					this.instance.semaphores().status("s"), this.instance.locks(), this.instance.semaphores(),
					LockRequest.of("k"));
			values.map(Objects::toString).forEach(texts::add);
			LockRequest now = LockRequest.of("k").waitTime(Duration.ofMillis(1));
			texts.add(trace(() -> other.acquire(now)));
			texts.add(trace(() -> other.acquire(SemaphoreRequest.of("s", 1))));
			texts.add(trace(() -> other.acquire(SemaphoreRequest.of("s", 1).permits(2))));
			texts.add(trace(() -> other.acquireInBackground(now.mode(LockMode.READ)).join()));
			this.instance.locks().admin().forceRelease("k");
			texts.add(trace(lease::ensureHeld));
			texts.add(trace(() -> lease.extend(Duration.ofSeconds(1))));
			this.fleet.observer().opsForHash().put(this.fleet.lockKey("hash"), "a", "b");
			texts.add(trace(() -> this.instance.acquire("hash")));
		}
		assertThat(texts).doesNotContain("").noneMatch((text) -> TOKEN.matcher(text).find());
		assertThat(ManagementFactory.getPlatformMBeanServer().queryNames(null, null))
			.noneMatch((name) -> TOKEN.matcher(name.getCanonicalName()).find());
	}

	private static String trace(Runnable call) {
		Throwable thrown = catchThrowable(call::run);
		StringBuilder text = new StringBuilder();
		for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
			text.append(cause).append('\n');
		}
		return text.toString();
	}

	@Test
	@DisplayName("No tag of a meter has an evaluated key")
	void meters() {
		worker().locked("customer-4711");
		CompletableFuture<LockLease> lost = this.instance.locks().acquireAsync(LockRequest.of("customer-4711"));
		lost.join();
		this.instance.locks().admin().forceRelease("customer-4711");
		this.instance.acquire(SemaphoreRequest.of("customer-4711", 5)).release();
		SimpleMeterRegistry registry = this.instance.context().getBean(SimpleMeterRegistry.class);
		List<Meter.Id> ids = registry.getMeters().stream().map(Meter::getId).toList();
		assertThat(ids).extracting(Meter.Id::getName)
			.contains("holdfast.lock.held", "holdfast.lock.acquire", "holdfast.semaphore.hold", "holdfast.lock.lost",
					"holdfast.method");
		assertThat(ids.toString()).doesNotContain("4711");
	}

	private Worker worker() {
		return this.instance.context().getBean(Worker.class);
	}

	static class Worker {

		@DistributedLock(key = "#value")
		public String locked(String value) {
			return value;
		}

		@DistributedLock(key = "'joined:' + #value")
		public String joined(String value) {
			return "joined " + value;
		}

	}

	@Configuration(proxyBeanMethods = false)
	@Import(Worker.class)
	static class Application extends TestApplication {

		@Bean
		SimpleMeterRegistry registry() {
			return new SimpleMeterRegistry();
		}

		@Bean
		ObservationRegistry observations(MeterRegistry meters) {
			ObservationRegistry registry = ObservationRegistry.create();
			registry.observationConfig().observationHandler(new DefaultMeterObservationHandler(meters));
			return registry;
		}

	}

}
