package io.holdfast.faults;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

import io.holdfast.LeaseStoreException;
import io.holdfast.LockRequest;
import io.holdfast.optimistic.OptimisticTransactions;
import io.holdfast.testing.FreePorts;
import io.holdfast.testing.RedisServer;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestCertificate;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Connections with TLS, as set by Spring Boot's properties: Holdfast's own connections,
 * too.
 */
@WithRedis
class TlsTests {

	private static final LockRequest REQUEST = LockRequest.of("tls").waitTime(SOON).leaseTime(Duration.ofMinutes(1));

	private static final String BUNDLE = "spring.ssl.bundle.pem.redis.";

	/** Polls after 24 s at the earliest: an earlier grant came by a wake-up. */
	private static final String ASK_SELDOM = "holdfast.wake-up.handoff-timeout=60s";

	@TempDir
	private static Path directory;

	private static TestCertificate server;

	private static TestCertificate client;

	private static TestCertificate untrusted;

	private static int tlsPort;

	private static RedisServer redis;

	@AutoClose
	private final Fleet fleet;

	TlsTests(TestRedis redis) {
		this.fleet = Fleet.on(redis, TlsTests.redis);
	}

	@BeforeAll
	static void start(TestRedis redis) {
		server = TestCertificate.create(directory, "server", "127.0.0.1");
		client = TestCertificate.create(directory, "client", "192.0.2.1");
		untrusted = TestCertificate.create(directory, "untrusted", "192.0.2.2");
		tlsPort = FreePorts.next();
		TlsTests.redis = redis.startServer("--tls-port", Integer.toString(tlsPort), "--tls-cert-file",
				server.certificate().toString(), "--tls-key-file", server.key().toString(), "--tls-ca-cert-file",
				client.certificate().toString(), "--tls-auth-clients", "yes");
	}

	private Instance start(String driver, TestCertificate trusted, TestCertificate own) {
		return this.fleet.start(ASK_SELDOM, "spring.data.redis.port=" + tlsPort,
				"spring.data.redis.client-type=" + driver, "spring.data.redis.ssl.bundle=redis",
				BUNDLE + "truststore.certificate=" + trusted.certificate().toUri(),
				BUNDLE + "keystore.certificate=" + own.certificate().toUri(),
				BUNDLE + "keystore.private-key=" + own.key().toUri());
	}

	@ParameterizedTest(name = "Locks, wake-ups and optimistic transactions with a certificate at either end ({0})")
	@ValueSource(strings = { "lettuce", "jedis" })
	void encrypted(String driver) {
		Instance instance = start(driver, server, client);
		Instance other = start(driver, server, client);
		this.fleet.awaitListening(2);
		instance.assertHandsOverTo(other);
		other.assertHandsOverTo(instance);
		String key = this.fleet.lockKey("optimistic");
		instance.context().getBean(OptimisticTransactions.class).execute(List.of(key), (transaction) -> {
			transaction.write((operations) -> operations.opsForValue().set(key, "set"));
			return true;
		});
		assertThat(this.fleet.observer().opsForValue().getAndDelete(key)).isEqualTo("set");
		this.fleet.awaitNothingLeft();
	}

	@Slow
	@ParameterizedTest(name = "{0}: The application starts, and its first request fails with the reason ({1})")
	@CsvSource({ "a server that is not trusted, lettuce, valid certification path",
			"a server that is not trusted, jedis, valid certification path",
			"a client that is not trusted, lettuce, Redis", "a client that is not trusted, jedis, Redis" })
	void notTrusted(String trouble, String driver, String reason) {
		boolean byClient = trouble.contains("server");
		Instance instance = byClient ? start(driver, untrusted, client) : start(driver, server, untrusted);
		assertThatExceptionOfType(LeaseStoreException.class).isThrownBy(() -> instance.acquire(REQUEST))
			.withMessageContaining("cannot be reached")
			.withMessageContaining(reason);
		assertThat(this.fleet.isLocked(REQUEST.key())).isFalse();
		assertThat(this.fleet.channels()).isZero();
	}

}
