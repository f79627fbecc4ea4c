package io.holdfast.faults;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

import io.holdfast.Lease;
import io.holdfast.LeaseStoreException;
import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import io.holdfast.actuate.HoldfastHealthIndicator;
import io.holdfast.testing.FaultProxy;
import io.holdfast.testing.RedisTestCase;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Health while Redis answers, and grants no lease.
 */
class RefusalHealthTests extends RedisTestCase {

	/** Leaves only the test's own requests and checks. */
	private static final String NO_CHECKS = "holdfast.redis.checks=false";

	private Instance start(Fleet fleet, String... properties) {
		Instance instance = fleet.start(properties);
		await("up").atMost(SOON).until(() -> health(instance).getStatus().equals(Status.UP));
		return instance;
	}

	private static Health health(Instance instance) {
		return new HoldfastHealthIndicator(instance.engine()).health();
	}

	/** Check the store, like health and the start. */
	private static void check(Instance instance) {
		instance.engine().examine().join();
	}

	private static void assertUp(Instance instance) {
		assertThat(health(instance)).isEqualTo(Health.up()
			.withDetails(Map.of("wakeUps", "received", "held", 0, "waiting", 0, "failingRenewals", 0))
			.build());
	}

	private static void assertDegraded(Instance instance, String words) {
		Health health = health(instance);
		assertThat(health.getStatus()).isEqualTo(HoldfastHealthIndicator.DEGRADED);
		assertThat(health.getDetails()).extractingByKey("trouble").asString().contains(words).doesNotContain("secret");
	}

	private static void assertRefused(Instance instance, Use... uses) {
		for (Use use : uses) {
			assertThatExceptionOfType(LeaseStoreException.class).as("%s", use).isThrownBy(() -> use.acquire(instance));
		}
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("The error of a server that refuses writes stays in health until each kind of request is granted"
			+ " again; a check with a write reveals such a server without any request, and its end")
	void refusedWrites(Trouble trouble) {
		Fleet fleet = Fleet.on(this.redis, this.redis.startServer("--save", "3600 1"));
		Instance instance = start(fleet, NO_CHECKS);
		check(instance);
		fleet.onServer(trouble::begin);
		assertUp(instance);
		for (Use use : Use.values()) {
			assertRefused(instance, use);
			assertDegraded(instance, trouble.word);
		}
		fleet.onServer(trouble::end);
		Use.LOCK.acquire(instance).close();
		assertDegraded(instance, trouble.word);
		Use.READ.acquire(instance).close();
		assertDegraded(instance, trouble.word);
		Use.PERMIT.acquire(instance).close();
		assertUp(instance);
		fleet.awaitNothingLeft();
		fleet.onServer(trouble::begin);
		check(instance);
		assertDegraded(instance, trouble.word);
		assertRefused(instance, Use.values());
		check(instance);
		assertDegraded(instance, trouble.word);
		fleet.onServer(trouble::end);
		check(instance);
		assertUp(instance);
		assertThat(fleet.keysBesidesFences()).isEmpty();
	}

	@ParameterizedTest
	@EnumSource(names = { "MISSING_REPLICAS", "FAILED_SAVE" })
	@DisplayName("F29 A refused release fails, and is repeated when the server accepts writes, long before the lease"
			+ " ends")
	void refusedRelease(Trouble trouble) {
		Fleet fleet = Fleet.on(this.redis, this.redis.startServer("--save", "3600 1"));
		Claims claims = new Claims(fleet, "key", Duration.ofMinutes(5), start(fleet)).waitedForBy(start(fleet));
		fleet.onServer(trouble::begin);
		claims.assertReleaseRefused();
		fleet.onServer(trouble::end);
		claims.assertGranted();
		fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("F29 Refused renewals: a lease is lost at its end and granted to its waiter when the server accepts"
			+ " writes, and a longer lease goes on")
	void refusedRenewal() throws InterruptedException {
		Fleet fleet = Fleet.on(this.redis, this.redis.startServer());
		Instance instance = start(fleet);
		Instance other = start(fleet);
		Claims kept = new Claims(fleet, "kept", Duration.ofSeconds(20), instance).waitedForBy(other);
		Claims lost = new Claims(fleet, "lost", Duration.ofSeconds(3), instance).waitedForBy(other);
		fleet.onServer(Trouble.MISSING_REPLICAS::begin);
		lost.assertLostWithin(Duration.ofMillis(3500));
		fleet.onServer(Trouble.MISSING_REPLICAS::end);
		lost.assertGranted();
		kept.assertHeld();
		kept.assertHandedOver();
		fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("Silence of the server replaces an earlier error in health")
	void silenceAfterError() {
		Fleet fleet = Fleet.on(this.redis, this.redis.startServer());
		FaultProxy proxy = fleet.proxy();
		Instance instance = fleet.start(proxy, NO_CHECKS);
		Use.LOCK.acquire(instance).close();
		fleet.onServer(Trouble.FULL_MEMORY::begin);
		assertRefused(instance, Use.LOCK);
		fleet.onServer(Trouble.FULL_MEMORY::end);
		assertDegraded(instance, Trouble.FULL_MEMORY.word);
		proxy.blackHole();
		assertThat(new HoldfastHealthIndicator(instance.engine(), Duration.ofSeconds(1)).health().getDetails())
			.containsEntry("trouble", "Redis does not answer");
		proxy.pass();
	}

	@Test
	@DisplayName("Without a right for permits, granted locks and checks do not hide that no permit is granted")
	void right() {
		Fleet fleet = Fleet.on(this.redis, this.redis.startServer());
		fleet.setUser("on", ">secret", "~*", "&*", "+@all");
		Instance instance = start(fleet, NO_CHECKS, "spring.data.redis.username=app",
				"spring.data.redis.password=secret");
		fleet.setUser("-pexpireat");
		assertRefused(instance, Use.PERMIT);
		assertDegraded(instance, "right that it needs");
		Use.LOCK.acquire(instance).close();
		assertDegraded(instance, "right that it needs");
		check(instance);
		assertDegraded(instance, "right that it needs");
		fleet.setUser("+pexpireat");
		assertRefusedNoMore(instance);
	}

	@Test
	@DisplayName("With the rights for locks only, an application that uses only locks is up from the start")
	void rightsToLocksOnly() {
		Fleet fleet = Fleet.on(this.redis, this.redis.startServer());
		fleet.setUser("on", ">secret", "&*", "+@all", "~" + fleet.lockKey("") + "k*", "~{" + fleet.lockKey("") + "k*",
				"~" + TestApplication.fleetKey(this.redis.keyPrefix()));
		Instance instance = fleet.start("spring.data.redis.username=app", "spring.data.redis.password=secret");
		await("connected").atMost(SOON).until(() -> instance.engine().status().listening());
		assertUp(instance);
		check(instance);
		Use.LOCK.acquire(instance).close();
		assertUp(instance);
	}

	private static void assertRefusedNoMore(Instance instance) {
		for (Use use : Use.values()) {
			use.acquire(instance).close();
		}
		assertUp(instance);
	}

	@Test
	@DisplayName("A grant without confirmation by a replica is no grant")
	void unconfirmed() {
		Fleet fleet = Fleet.on(this.redis, this.redis.startServer());
		Instance instance = fleet.start(NO_CHECKS, "holdfast.redis.min-replicas=1",
				"holdfast.redis.replica-timeout=100ms");
		assertRefused(instance, Use.LOCK);
		assertDegraded(instance, "holdfast.redis.min-replicas");
		check(instance);
		assertDegraded(instance, "holdfast.redis.min-replicas");
	}

	@Test
	@DisplayName("A key of a wrong type is no trouble of Redis")
	void wrongType() {
		Fleet fleet = Fleet.on(this.redis, this.redis.startServer());
		Instance instance = start(fleet, NO_CHECKS);
		fleet.observer().opsForList().rightPush(fleet.lockKey("key"), "something else");
		assertRefused(instance, Use.LOCK);
		assertUp(instance);
	}

	@Test
	@DisplayName("An application starts while Redis has too many clients, reports the trouble, and grants later")
	void maxClients() {
		Fleet fleet = Fleet.on(this.redis, this.redis.startServer());
		fleet.onServer((connection) -> connection.serverCommands().setConfig("maxclients", "1"));
		Instance instance = fleet.start();
		await("its words").atMost(SOON).untilAsserted(() -> assertDegraded(instance, "max number of clients"));
		fleet.onServer((connection) -> connection.serverCommands().setConfig("maxclients", "100"));
		await("a grant").atMost(SOON.multipliedBy(2))
			.ignoreExceptionsInstanceOf(LeaseStoreException.class)
			.untilAsserted(() -> assertRefusedNoMore(instance));
	}

	/** Requests by kinds of resources; a reader and a writer are of the same kind. */
	private enum Use {

		LOCK((instance) -> instance.tryAcquire("key")),

		READ((instance) -> instance.locks().tryAcquire(LockRequest.of("key-too").mode(LockMode.READ))),

		PERMIT((instance) -> instance.semaphores().tryAcquire(SemaphoreRequest.of("key", 1)));

		private final Function<Instance, Optional<? extends Lease>> attempt;

		Use(Function<Instance, Optional<? extends Lease>> attempt) {
			this.attempt = attempt;
		}

		Lease acquire(Instance instance) {
			return this.attempt.apply(instance).orElseThrow();
		}

	}

}
