package io.holdfast.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

import io.holdfast.LockService;
import io.holdfast.LockView;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.integration.leader.AbstractCandidate;
import org.springframework.integration.leader.Context;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.integration.support.locks.LockRegistry;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Leader election of Spring Integration over views of locks, as in {@code docs/jobs.md}.
 */
class LeaderElectionTests extends FaultTestCase {

	private static final String KEY = "leader:reports";

	/** So long that no leader changes because of the end of a lease. */
	private static final String LONG_LEASE = "holdfast.lock.lease-time=10m";

	private static final String SHORT_LEASE = "holdfast.lock.lease-time=2s";

	private Instance start(String... properties) {
		return this.fleet.start(Application.class, properties);
	}

	private static LockRegistryLeaderInitiator initiator(Instance instance) {
		return instance.context().getBean(LockRegistryLeaderInitiator.class);
	}

	private static boolean leads(Instance instance) {
		return initiator(instance).getContext().isLeader();
	}

	private static Instance awaitLeader(Instance... instances) {
		await("a leader").atMost(SOON)
			.until(() -> Stream.of(instances).filter(LeaderElectionTests::leads).count() == 1);
		return Stream.of(instances).filter(LeaderElectionTests::leads).findFirst().orElseThrow();
	}

	private static void assertStays(Instance leader, Instance other) {
		await("one leader").during(Duration.ofSeconds(3)).atMost(SOON).until(() -> leads(leader) && !leads(other));
	}

	private static List<String> history(Instance instance) {
		return instance.context().getBean(Reports.class).history;
	}

	@Test
	@DisplayName("One of two instances leads, for longer than its lease, and the second instance after the first has"
			+ " stopped")
	void stops() {
		Instance one = start(SHORT_LEASE);
		Instance two = start(SHORT_LEASE);
		Instance leader = awaitLeader(one, two);
		Instance other = (leader == one) ? two : one;
		assertStays(leader, other);
		List<String> history = history(leader);
		assertThat(history).containsExactly("granted");
		leader.close();
		await("its end").atMost(SOON).until(() -> history.equals(List.of("granted", "revoked")));
		awaitLeader(other);
		assertThat(history(other)).containsExactly("granted");
		other.close();
		this.fleet.awaitNothingLeft();
	}

	@Test
	@DisplayName("A waiter is woken up when the leader stops or yields, without waiting for its lease's end")
	void passesOn() {
		Instance one = start(LONG_LEASE);
		awaitLeader(one);
		Instance two = start(LONG_LEASE);
		this.fleet.awaitQueued(KEY);
		initiator(one).getContext().yield();
		await("the other one leads").atMost(SOON).until(() -> leads(two) && !leads(one));
		this.fleet.awaitQueued(KEY);
		two.close();
		await("the first one leads again").atMost(SOON).until(() -> leads(one));
		assertThat(history(one)).containsExactly("granted", "revoked", "granted");
		initiator(one).stop();
		await("no leader").atMost(SOON).until(() -> !this.fleet.isLocked(KEY));
		initiator(one).start();
		awaitLeader(one);
	}

	@Test
	@DisplayName("A leader whose lock is released by force in its own instance steps down, and stands for election"
			+ " again")
	void forced() {
		Instance one = start(LONG_LEASE);
		awaitLeader(one);
		Instance two = start(LONG_LEASE);
		this.fleet.awaitQueued(KEY);
		assertThat(one.locks().admin().forceRelease(KEY)).isTrue();
		await("the second instance leads").atMost(SOON).until(() -> leads(two) && !leads(one));
		assertStays(two, one);
		two.close();
		await("the first instance leads again").atMost(SOON).until(() -> leads(one));
		assertThat(history(one)).containsExactly("granted", "revoked", "granted");
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@Import(Reports.class)
	static class Application {

		@Bean
		LockRegistry<LockView> lockRegistry(LockService locks) {
			return (key) -> locks.asLock("leader:" + key);
		}

		@Bean
		LockRegistryLeaderInitiator leaderInitiator(LockRegistry<LockView> lockRegistry, Reports reports) {
			LockRegistryLeaderInitiator initiator = new LockRegistryLeaderInitiator(lockRegistry, reports);
			initiator.setHeartBeatMillis(200);
			return initiator;
		}

	}

	/**
	 * Candidate with a history of its leadership.
	 */
	static class Reports extends AbstractCandidate {

		private final List<String> history = new CopyOnWriteArrayList<>();

		Reports() {
			super(null, "reports");
		}

		@Override
		public void onGranted(Context context) {
			this.history.add("granted");
		}

		@Override
		public void onRevoked(Context context) {
			this.history.add("revoked");
		}

	}

}
