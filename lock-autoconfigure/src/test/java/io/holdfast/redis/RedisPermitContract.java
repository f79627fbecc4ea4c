package io.holdfast.redis;

import java.util.List;

import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.ModeOrderContract;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.SharedStores;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

abstract class RedisPermitContract extends ModeOrderContract {

	protected final TestStores stores;

	RedisPermitContract(TestStores stores) {
		this.stores = stores.handoffTimeout(HANDOFF);
	}

	@Override
	protected SharedStores stores() {
		return this.stores;
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("The reply of a release announces grants to the releasing instance, also without a subscription")
	void releaseTellsOfOwnGrants(Kind kind) {
		Resource resource = new Resource(kind, KEY);
		Instance instance = newPollingInstance();
		granted(instance.acquire(resource, all(instance, "1")));
		busy(instance.acquire(resource, all(instance, "2")));
		assertThat(instance.release(resource, all(instance, "1"))).isTrue();
		assertThat(instance.wakeUps).hasSize(1);
		WakeUp wakeUp = instance.wakeUps.get(0);
		assertThat(wakeUp.resource()).isEqualTo(resource);
		assertThat(wakeUp.token()).isEqualTo(instance.token("2"));
		assertThat(wakeUp.ttlMillis()).isEqualTo(CLAIM);
		assertThat(wakeUp.fence()).isEqualTo(granted(instance.acquire(resource, all(instance, "2"))).fence());
	}

	@ParameterizedTest
	@EnumSource
	@DisplayName("Grants of a release in another instance's name are announced to that instance")
	void releaseInAnothersName(Kind kind) {
		Resource resource = new Resource(kind, KEY);
		Instance another = newPollingInstance();
		granted(this.a.acquire(resource, all(this.a, "1")));
		busy(this.a.acquire(resource, all(this.a, "2")));
		assertThat(another.release(resource, all(this.a, "1"))).isTrue();
		assertThat(this.a.awaitWakeUp().token()).isEqualTo(this.a.token("2"));
		assertThat(another.wakeUps).isEmpty();
	}

	@Test
	@DisplayName("The reply of a release announces grants to readers of the releasing instance only")
	void releaseTellsOfOwnReaders() {
		Instance instance = newPollingInstance();
		granted(instance.acquire(LOCK, exclusive(instance, "1")));
		busy(instance.acquire(LOCK, reader(instance, "2")));
		busy(instance.acquire(LOCK, reader(instance, "3")));
		assertThat(instance.release(LOCK, exclusive(instance, "1"))).isTrue();
		assertThat(instance.wakeUps).extracting(WakeUp::token)
			.containsExactly(instance.token("2"), instance.token("3"));
		for (String n : List.of("2", "3")) {
			assertThat(instance.release(LOCK, reader(instance, n))).isTrue();
		}
		instance.wakeUps.clear();
		granted(this.a.acquire(LOCK, exclusive(this.a, "1")));
		busy(this.a.acquire(LOCK, reader(this.a, "2")));
		assertThat(instance.release(LOCK, exclusive(this.a, "1"))).isTrue();
		assertThat(this.a.awaitWakeUp().token()).isEqualTo(this.a.token("2"));
		assertThat(instance.wakeUps).isEmpty();
	}

	static AcquireCommand all(Instance instance, String n) {
		return command(instance, n, Resource.ALL, Resource.ALL);
	}

	@AfterEach
	void closeConnections() throws Exception {
		this.stores.closeConnections();
	}

}
