package io.holdfast.autoconfigure;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import javax.sql.DataSource;

import io.holdfast.KeyNamespace;
import io.holdfast.LockService;
import io.holdfast.NotAcquiredStrategy;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import io.holdfast.aop.MethodObserver;
import io.holdfast.engine.LeaseEngine;
import io.holdfast.optimistic.OptimisticTransactions;
import io.holdfast.testing.ForeignConnectionFactory;
import io.holdfast.testing.TestApplication;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.Mockito;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.jdbc.support.JdbcTransactionManager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * Description and action, without a stack trace, for an application that does not start
 * because of a declaration or a property.
 */
@ExtendWith(OutputCaptureExtension.class)
class StartFailureTests {

	private final CapturedOutput output;

	StartFailureTests(CapturedOutput output) {
		this.output = output;
	}

	/** Return the message of an application with these beans. */
	private String failToStart(List<Class<?>> beans, String... args) {
		return failToStart(new SpringApplicationBuilder(beans.toArray(Class<?>[]::new)), args);
	}

	private String failToStart(Class<?> bean, String... args) {
		return failToStart(List.of(bean), args);
	}

	/** Return an application with two mocks of a type, besides other beans. */
	private static <T> SpringApplicationBuilder withTwo(Class<T> type, Class<?>... beans) {
		return new SpringApplicationBuilder(beans).initializers((GenericApplicationContext context) -> {
			context.registerBean("first", type, () -> Mockito.mock(type));
			context.registerBean("second", type, () -> Mockito.mock(type));
		});
	}

	private String failToStart(SpringApplicationBuilder application, String... args) {
		int before = this.output.length();
		assertThatException().isThrownBy(() -> application.sources(TestApplication.class)
			.web(WebApplicationType.NONE)
			.properties("holdfast.backend=memory")
			.run(args));
		String message = this.output.toString().substring(before);
		assertThat(message).contains("APPLICATION FAILED TO START", "Description:", "Action:")
			.doesNotContain("\tat org.springframework.");
		return message;
	}

	@Test
	@DisplayName("An invalid declaration is named by class, method, attribute and value, with its cure")
	void declaration() {
		assertThat(failToStart(Stock.class)).containsSubsequence("Description:",
				"@DistributedLock on " + Stock.class.getName() + ".sell(String): key = \"#skuu\"",
				"has an unknown name: #skuu.", "Action:", "The method's parameters are #sku;", ".");
	}

	@Test
	@DisplayName("A declaration that turns out invalid once all beans exist is named with its cure")
	void service() {
		assertThat(failToStart(Geocoder.class)).containsSubsequence("Description:",
				"@Semaphore on " + Geocoder.class.getName() + ".locate(): service = \"missing\"",
				"is the name of no bean.", "Action:", "Write the name of a SemaphoreService, or leave it out");
	}

	@Test
	@DisplayName("A declaration without a service, among several services, is named with the services")
	void severalServices() {
		assertThat(failToStart(withTwo(LockService.class, Catalogue.class), "--my.lease=30s")).containsSubsequence(
				"Description:",
				"@DistributedLock on " + Catalogue.class.getName() + ".rebuild() names no service, and there are"
						+ " several beans of type LockService: [first, second].",
				"Action:", "Name one by the attribute service, or mark one as @Primary");
	}

	@ParameterizedTest
	@ValueSource(classes = { NotAcquiredStrategy.class, KeyNamespace.class, MethodObserver.class })
	@DisplayName("Several beans of a type that allows a single bean are named")
	void severalBeans(Class<?> type) {
		assertThat(failToStart(withTwo(type))).containsSubsequence("Description:", "There are several beans of type ",
				": [first, second].", "Action:", "Mark one as @Primary.");
	}

	@Test
	@DisplayName("A declaration in conflict with the properties is named with both cures")
	void lease() {
		String[] args = { "--holdfast.backend=redis", "--holdfast.redis.fail-over-grace=true", "--my.lease=31s" };
		assertThat(failToStart(Catalogue.class, args)).containsSubsequence("Description:",
				"@DistributedLock on " + Catalogue.class.getName() + ".rebuild(): leaseTime = \"${my.lease}\"",
				"(31s) is longer than holdfast.redis.longest-lease (30000ms), after which"
						+ " holdfast.redis.fail-over-grace counts every lease as ended",
				"Action:", "Lower leaseTime", "or raise that property");
	}

	@Test
	@DisplayName("A lease time and a loss margin in conflict are named, whichever of them is a property")
	void lossMargin() {
		assertThat(failToStart(Catalogue.class, "--holdfast.lock.loss-margin=5s", "--my.lease=14s"))
			.containsSubsequence("Description:",
					"@DistributedLock on " + Catalogue.class.getName() + ".rebuild(): leaseTime = \"${my.lease}\"",
					"(14s) is less than three times holdfast.lock.loss-margin (5000ms)", "Action:",
					"give a lossMargin of 4666ms at most");
		assertThat(failToStart(Archive.class, "--holdfast.lock.lease-time=14s")).containsSubsequence("Description:",
				"@DistributedLock on " + Archive.class.getName() + ".write(): lossMargin = \"5s\"",
				"is more than a third of holdfast.lock.lease-time (14000ms)", "Action:",
				"Lower lossMargin, or give a leaseTime");
	}

	@Test
	@DisplayName("A connection factory of another library is named by class, with its user and the bean to define")
	void connectionFactory() {
		String unknown = ForeignConnectionFactory.class.getName() + ", which is neither a LettuceConnectionFactory nor"
				+ " a JedisConnectionFactory, nor a Spring proxy of one";
		assertThat(failToStart(Foreign.class, "--holdfast.backend=redis")).containsSubsequence("Description:",
				"Holdfast cannot tell where Redis is from " + unknown, "Action:", "@Bean LeaseEngine leaseEngine");
		assertThat(failToStart(List.of(Foreign.class, Optimist.class))).containsSubsequence("Description:",
				"OptimisticTransactions cannot watch keys on connections of " + unknown, "Action:",
				"Define a LettuceConnectionFactory as a bean");
	}

	@Test
	@DisplayName("A missing fence table is named with its DataSource, the error of the database, and the script")
	void fenceTable() {
		assertThat(failToStart(List.of(Orders.class, Ledger.class), "--holdfast.fence.jdbc.initialize-schema=never"))
			.containsSubsequence("Description:",
					"The DataSource 'orders' has no fence table holdfast_fence, which fenced locks need: ",
					"Table \"HOLDFAST_FENCE\" not found", "Action:", "Create it with this script:",
					"CREATE TABLE IF NOT EXISTS holdfast_fence (",
					"or set holdfast.fence.jdbc.initialize-schema=always.");
	}

	@ParameterizedTest
	@ValueSource(strings = { "--holdfast.backend=memory", "--holdfast.redis.fail-over-grace=false",
			"--holdfast.redis.longest-lease=31s", "--my.lease=30s" })
	@DisplayName("A declaration within the bounds of the properties is accepted")
	void allowedLease(String arg) {
		List<String> args = new ArrayList<>(
				List.of("--holdfast.backend=redis", "--holdfast.redis.fail-over-grace=true", "--my.lease=31s"));
		args.removeIf((other) -> other.startsWith(arg.substring(0, arg.indexOf('=') + 1)));
		args.add(arg);
		try (ConfigurableApplicationContext context = new SpringApplicationBuilder(TestApplication.class,
				Catalogue.class)
			.web(WebApplicationType.NONE)
			.run(args.toArray(String[]::new))) {
			assertThat(context.isRunning()).isTrue();
		}
	}

	@ParameterizedTest
	@CsvSource(quoteCharacter = '`',
			textBlock = """
					holdfast.lock.lease-time     | 5ms           | it must be at least 100ms
					holdfast.lock.lease-time     | 2 parsec      | '2 parsec' is not a valid duration
					holdfast.lock.wait-time      | -2s           | it must be at least 0, or -1 to wait without limit
					holdfast.semaphore.wait-time | soon          | 'soon' is not a valid duration
					holdfast.lock.max-hold       | 29s           | it must not be shorter than holdfast.lock.lease-time (30s)
					holdfast.lock.loss-margin    | 10001ms       | it must be at most a third of holdfast.lock.lease-time (30s)
					holdfast.lock.loss-margin    | -1ms          | it must be at least 0s
					holdfast.semaphore.key-prefix | lock:        | it must not be the same as holdfast.lock.key-prefix
					holdfast.semaphore.lease-time | 366d         | it must be at most 365d
					holdfast.optimistic.max-attempts | 0         | it must be at least 1
					holdfast.optimistic.max-attempts | many      | failed to convert java.lang.String to @org.springframework.boot.context.properties.bind.DefaultValue int
					holdfast.backend             | disk          | The following values are valid:
					holdfast.wake-up.mode        | telepathy     | The following values are valid:
					holdfast.lock.on-store-failure | proceed     | The following values are valid:
					holdfast.semaphore.on-store-failure | default | The following values are valid:
					holdfast.semaphore.on-store-failure | retry  | The following values are valid:
					holdfast.leak-detection-threshold | -1s      | it must be at least 0s
					holdfast.aop.order           | first         | failed to convert java.lang.String to
					holdfast.aop.order           | -2147483648   | it must be at least -2147483647 and at most 2147483646
					holdfast.aop.order           | 2147483647    | it must be at least -2147483647 and at most 2147483646
					holdfast.lock.fair           | true          | this property was removed. Delete it:
					holdfast.lock.keep-warm      | 50ms          | this property was removed. Delete it:
					holdfast.lock.keep-warm      | ${nowhere}    | this property was removed. Delete it:
					holdfast.enabled             | flase           | it must be true or false
					holdfast.aop.enabled         | on            | it must be true or false
					holdfast.console.enabled     | yes           | it must be true or false
					spring.lifecycle.timeout-per-shutdown-phase | long | 'long' is not a valid duration
					""",
			delimiter = '|')
	@DisplayName("An invalid property is named with value, origin and valid values")
	void property(String name, String value, String reason) {
		assertThat(failToStart(List.of(), "--" + name + "=" + value)).contains(name, value, reason)
			.contains("\"" + name + "\" from property source \"commandLineArgs\"");
	}

	@ParameterizedTest
	@ValueSource(strings = { "HOLDFAST_LOCK_KEEPWARM", "HOLDFAST_LOCK_KEEP_WARM" })
	@DisplayName("A removed property in the environment of the process is named, also if Holdfast is switched off")
	void removed(String variable) {
		String name = StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME;
		StandardEnvironment environment = new StandardEnvironment();
		environment.getPropertySources()
			.replace(name, new SystemEnvironmentPropertySource(name, Map.of(variable, "0ms")));
		assertThat(failToStart(new SpringApplicationBuilder().environment(environment), "--holdfast.enabled=false"))
			.contains("'0ms'", "'holdfast.lock.keep-warm'", "System Environment Property \"" + variable + "\"",
					"this property was removed. Delete it:");
	}

	static class Stock {

		@DistributedLock(key = "#skuu")
		public void sell(String sku) {
		}

	}

	static class Catalogue {

		@DistributedLock(leaseTime = "${my.lease}")
		public void rebuild() {
		}

	}

	static class Archive {

		@DistributedLock(lossMargin = "5s")
		public void write() {
		}

	}

	static class Ledger {

		@DistributedLock(fenced = true)
		public void book() {
		}

	}

	static class Geocoder {

		@Semaphore(name = "geocoder", limit = 1, service = "missing")
		public void locate() {
		}

	}

	static class Optimist {

		Optimist(OptimisticTransactions transactions) {
			assertThat(transactions).isNotNull();
		}

	}

	static class Foreign {

		@Bean
		RedisConnectionFactory redis() {
			return new ForeignConnectionFactory(new LettuceConnectionFactory());
		}

	}

	static class Orders {

		@Bean
		DataSource orders() {
			JdbcDataSource database = new JdbcDataSource();
			database.setUrl("jdbc:h2:mem:orders;DB_CLOSE_DELAY=-1");
			return database;
		}

		@Bean
		JdbcTransactionManager transactions(DataSource orders) {
			return new JdbcTransactionManager(orders);
		}

	}

}
