package io.holdfast.faults;

import java.time.Duration;

import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockStatus;
import io.holdfast.actuate.FleetDescriptor;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.ResourceDescriptor;
import io.holdfast.actuate.UsageDescriptor;
import io.holdfast.testing.DocumentedRights;
import io.holdfast.testing.Slow;
import io.holdfast.testing.TestRedis;
import io.holdfast.testing.WithRedis;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static io.holdfast.faults.Fleet.SOON;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * A Redis user with the rights for locks and for watching, and no more.
 */
@WithRedis
@ExtendWith(OutputCaptureExtension.class)
class FleetRightsTests {

	private static final DocumentedRights LEASES = DocumentedRights.ofLeases();

	private static final DocumentedRights WATCHING = DocumentedRights.ofWatching();

	private static final String WARNING = "Other instances and their endpoints do not see this one";

	private final Fleet fleet;

	FleetRightsTests(TestRedis redis) {
		this.fleet = Fleet.on(redis, redis.startServer());
		this.fleet.setUser(LEASES.rules("secret").toArray(String[]::new));
	}

	@AfterEach
	void close() {
		this.fleet.setUser("+@all", "allkeys", "allchannels");
		this.fleet.close();
	}

	private void allowToWatch() {
		this.fleet.setUser(WATCHING.rights().toArray(String[]::new));
	}

	private Instance start() {
		return this.fleet.start("spring.data.redis.username=app", "spring.data.redis.password=secret",
				"holdfast.lock.key-prefix=lock:", "holdfast.semaphore.key-prefix=semaphore:",
				"holdfast.wake-up.channel-prefix=holdfast:wake:", "holdfast.fleet.key=holdfast:fleet",
				"holdfast.redis.checks=false");
	}

	private static LocksEndpoint endpoint(Instance instance) {
		return new LocksEndpoint(instance.engine());
	}

	@Slow
	@Test
	@DisplayName("F35 The documented rights are enough to watch, and each missing right is named in the answer")
	void rights() {
		allowToWatch();
		Instance first = start();
		LocksEndpoint endpoint = endpoint(start());
		first.locks().acquire("a");
		await("both instances, and their reports").atMost(SOON).untilAsserted(() -> {
			FleetDescriptor seen = endpoint.locks(null, null).fleet();
			assertThat(seen.problem()).isNull();
			assertThat(seen.instances()).hasSize(2);
			assertThat(seen.silent()).isEmpty();
			assertThat(seen.locks()).extracting(ResourceDescriptor::key).containsExactly("a");
		});
		for (String command : WATCHING.commands()) {
			this.fleet.setUser("-" + command);
			UsageDescriptor seen = endpoint.locks(null, null);
			if (command.equals("rpush")) {
				// The other instance cannot answer.
				assertThat(seen.fleet().silent()).hasSize(1);
			}
			else {
				assertThat(seen.fleet().locks()).hasSize(command.equals("scan") ? 0 : 1);
				assertThat(seen.fleet().problem()).as("without " + command)
					.contains("does not give the application's user a right")
					.contains(" " + command);
			}
			this.fleet.setUser("+" + command);
		}
		assertThat(endpoint.locks(null, null).fleet().problem()).isNull();
	}

	@Test
	@DisplayName("Without the rights to watch, one warning is logged, and locks work")
	void withoutThem(CapturedOutput output) {
		Instance instance = start();
		await("the warning").atMost(SOON).until(() -> output.toString().contains(WARNING));
		instance.locks().acquire("a");
		UsageDescriptor seen = endpoint(instance).locks(null, null);
		assertThat(seen.held()).hasSize(1);
		assertThat(seen.fleet().problem()).contains("does not give the application's user a right");
		assertThat(endpoint(instance).lock("a").holders()).hasSize(1);
		assertThat(output).containsOnlyOnce(WARNING);
	}

	@Test
	@DisplayName("Without the rights to watch, refusals have the number of the holder instead of its name")
	void unnamedHolder() {
		Instance holder = start();
		Instance other = start();
		holder.locks().acquire(LockRequest.of("a").note("inventory"));
		LockRequest request = LockRequest.of("a").waitTime(Duration.ZERO);
		assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> other.acquire(request))
			.satisfies((refusal) -> assertThat(refusal.getHolder()).isNull())
			.withMessageMatching(".* ms: still held by instance [0-9a-f]{8}");
		LockStatus status = other.locks().status("a");
		assertThat(status.owner()).isEqualTo(LockStatus.Owner.OTHER_INSTANCE);
		assertThat(status.holder()).isNull();
		assertThat(status.thread()).isNull();
		assertThat(status.note()).isNull();
	}

}
