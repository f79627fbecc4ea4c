package io.holdfast.fleet;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.LockHolder;
import io.holdfast.LockLease;
import io.holdfast.LockMode;
import io.holdfast.LockNotAcquiredException;
import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.LockStatus;
import io.holdfast.SemaphoreRequest;
import io.holdfast.actuate.LocksEndpoint;
import io.holdfast.actuate.ResourceDescriptor;
import io.holdfast.actuate.UsageDescriptor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

/**
 * The holder of a lock in the exception of a refused request.
 */
class LockHolderTests extends FleetTestCase {

	private static LockService warehouse;

	private static LockService shop;

	@BeforeAll
	static void start() {
		warehouse = fleet.start("spring.application.name=warehouse");
		shop = fleet.start("spring.application.name=shop");
	}

	private static LockNotAcquiredException refused(LockService locks, LockRequest request) {
		return catchThrowableOfType(LockNotAcquiredException.class, () -> locks.acquire(request));
	}

	private static LockHolder holder(LockNotAcquiredException refusal) {
		LockHolder holder = refusal.getHolder();
		assertThat(holder).isNotNull();
		return holder;
	}

	@ParameterizedTest(name = "The refusal of another application's request names the holder: wait of {0} ms")
	@ValueSource(longs = { 0, 1000 })
	void otherApplication(long wait) {
		LockRequest request = LockRequest.of(this.key).waitTime(Duration.ofMillis(wait));
		try (LockLease lease = warehouse.acquire(this.key)) {
			assertThat(lease.isHeld()).isTrue();
			await("the register").until(() -> refused(shop, request).getHolder() != null);
			LockNotAcquiredException refusal = refused(shop, request);
			LockHolder holder = holder(refusal);
			assertThat(holder.application()).isEqualTo("warehouse");
			assertThat(holder.process()).isEqualTo(ProcessHandle.current().pid());
			assertThat(holder.host()).isNotBlank();
			assertThat(refusal).hasMessageMatching(
					".* ms: still held by application 'warehouse' on \\S+, process " + ProcessHandle.current().pid());
			assertThat(shop.withLockAsync(request.mode(LockMode.READ), () -> {
				throw new AssertionError("held by the warehouse");
			}).handle((done, failure) -> failure).join()).isInstanceOfSatisfying(LockNotAcquiredException.class,
					(failure) -> assertThat(failure.getHolder()).isEqualTo(holder));
		}
	}

	@Test
	@DisplayName("The status names holder, time, thread and note of the exclusive owner, in its instance and others")
	void status() {
		LockRequest request = LockRequest.of(this.key).note("inventory\n\u2028\u202E2026");
		Instant before = Instant.now().minusSeconds(1);
		try (LockLease lease = warehouse.acquire(request)) {
			assertThat(lease.isHeld()).isTrue();
			await("the register").until(() -> shop.status(this.key).holder() != null);
			for (LockService locks : List.of(shop, warehouse)) {
				LockStatus status = locks.status(this.key);
				assertThat(status.holder()).isNotNull().extracting(LockHolder::application).isEqualTo("warehouse");
				assertThat(status.since()).isBetween(before, Instant.now().plusSeconds(1));
				assertThat(status.thread()).isEqualTo(Thread.currentThread().getName());
				assertThat(status.note()).isEqualTo("inventory???2026");
			}
			assertThat(new LocksEndpoint(fleet.engine(shop)).lock(this.key).holders())
				.extracting(ResourceDescriptor.Holder::note)
				.containsExactly("inventory???2026");
		}
	}

	@Test
	@DisplayName("A nested lease does not change the note; the next holder of the instance has its own")
	void nestedNote() throws Exception {
		LockRequest request = LockRequest.of(this.key).waitTime(Duration.ofMinutes(1));
		Attempt<LockLease> next;
		try (LockLease lease = warehouse.acquire(request.note("inventory"))) {
			assertThat(lease.isHeld()).isTrue();
			try (LockLease nested = warehouse.acquire(request.note("shelf 7"))) {
				assertThat(nested.isHeld()).isTrue();
				assertThat(shop.status(this.key).note()).isEqualTo("inventory");
			}
			next = Attempt.start(() -> warehouse.acquire(request.note("return")));
			await("the next one").until(() -> warehouse.status(this.key).waitingInThisInstance() == 1);
		}
		try (LockLease lease = next.get()) {
			assertThat(lease.isHeld()).isTrue();
			assertThat(shop.status(this.key).note()).isEqualTo("return");
			assertThat(warehouse.status(this.key).note()).isEqualTo("return");
		}
	}

	@Test
	@DisplayName("A name of an application is one line in one direction; a blank or too long note is refused")
	void oddTexts() {
		LockService odd = fleet.start("spring.application.name=ware\n\u2028\u202Ehouse");
		try (LockLease lease = odd.acquire(this.key)) {
			assertThat(lease.isHeld()).isTrue();
			assertThat(shop.status(this.key).holder()).isNotNull()
				.extracting(LockHolder::application)
				.isEqualTo("ware???house");
		}
		fleet.stop(odd);
		LockRequest request = LockRequest.of(this.key);
		for (String note : List.of("", " ", "x".repeat(201))) {
			assertThatIllegalArgumentException().isThrownBy(() -> request.note(note))
				.withMessageContainingAll("note of lock '" + this.key + "'", "up to 200 characters");
		}
		assertThat(request.note("x".repeat(200)).note()).hasSize(200);
		assertThat(SemaphoreRequest.of("calls", 1).note("anna").note()).isEqualTo("anna");
	}

	@Test
	@DisplayName("The status has no details of a free key, of readers, of a dead holder or of another client")
	void statusWithoutDetails() {
		assertNoDetails(shop.status(this.key));
		LockRequest request = LockRequest.of(this.key).note("inventory");
		try (LockLease lease = warehouse.acquire(request.mode(LockMode.READ))) {
			assertThat(lease.isHeld()).isTrue();
			assertNoDetails(shop.status(this.key));
		}
		String token = fleet.plainClient().tryLock("other", Duration.ofMinutes(1));
		LockStatus status = shop.status("other");
		assertThat(status.owner()).isEqualTo(LockStatus.Owner.FOREIGN);
		assertNoDetails(status);
		assertThat(fleet.plainClient().unlock("other", String.valueOf(token))).isTrue();
		String dead = "0123456789abcdef0123456789abcdef:1";
		fleet.template().opsForValue().set(fleet.lockKey("dead"), dead);
		status = shop.status("dead");
		assertThat(status.owner()).isEqualTo(LockStatus.Owner.OTHER_INSTANCE);
		assertNoDetails(status);
		fleet.template().delete(fleet.lockKey("dead"));
	}

	private static void assertNoDetails(LockStatus status) {
		assertThat(status.holder()).isNull();
		assertThat(status.since()).isNull();
		assertThat(status.thread()).isNull();
		assertThat(status.note()).isNull();
	}

	@Test
	@DisplayName("A timeout behind another thread of the same instance names that thread")
	void sameInstance() throws Exception {
		try (LockLease lease = shop.acquire(this.key)) {
			assertThat(lease.isHeld()).isTrue();
			LockNotAcquiredException refusal = Attempt
				.onAnotherThread(() -> refused(shop, LockRequest.of(this.key).waitTime(Duration.ofSeconds(1))));
			assertThat(refusal).hasMessageContaining("still held by application 'shop' on ")
				.hasMessageEndingWith(" (this instance, thread '" + Thread.currentThread().getName() + "')");
			assertThat(holder(refusal).application()).isEqualTo("shop");
		}
	}

	@Test
	@DisplayName("The first message about a new instance has its number, later messages its name; the status looks the"
			+ " name up")
	void unknown() {
		// The shared instances may be reading the register for an earlier test.
		LockService reader = fleet.start("spring.application.name=reader");
		LockService late = fleet.start("spring.application.name=late");
		try (LockLease lease = late.acquire(this.key)) {
			assertThat(lease.isHeld()).isTrue();
			LockNotAcquiredException refusal = refused(reader, LockRequest.of(this.key).waitTime(Duration.ZERO));
			assertThat(refusal.getHolder()).isNull();
			assertThat(refusal.getMessage()).matches(".* ms: still held by instance [0-9a-f]{8}");
			assertThat(reader.status(this.key).holder()).isNotNull()
				.extracting(LockHolder::application)
				.isEqualTo("late");
			await("the name")
				.until(() -> refused(reader, LockRequest.of(this.key).waitTime(Duration.ZERO)).getHolder() != null);
		}
		fleet.stop(late);
		fleet.stop(reader);
	}

	@Test
	@DisplayName("A waiting request looks up the name of a new instance before the wait ends")
	void namedDuringTheWait() {
		LockService reader = fleet.start("spring.application.name=reader");
		LockService late = fleet.start("spring.application.name=late");
		io.holdfast.engine.fleet.Fleet seen = io.holdfast.engine.fleet.Fleet.of(fleet.engine(reader));
		String instance = io.holdfast.engine.fleet.Fleet.of(fleet.engine(late)).instance();
		CompletableFuture<LockLease> next;
		try (LockLease lease = late.acquire(this.key)) {
			assertThat(lease.isHeld()).isTrue();
			assertThat(seen.findKnown(instance)).isNull();
			next = reader.acquireAsync(LockRequest.of(this.key).waitTime(Duration.ofMinutes(1)));
			await("the name").until(() -> seen.findKnown(instance) != null);
		}
		next.join().close();
		fleet.stop(late);
		fleet.stop(reader);
	}

	@Test
	@DisplayName("A holder that stopped and left its lock behind by minHold keeps its name, in exceptions, status and endpoint")
	void stopped() {
		LockService job = fleet.start("spring.application.name=job");
		LockRequest request = LockRequest.of(this.key).waitTime(Duration.ZERO);
		job.acquire(request.minHold(Duration.ofMinutes(5))).close();
		await("the name").until(() -> refused(shop, request).getHolder() != null);
		fleet.stop(job);
		assertThat(io.holdfast.engine.fleet.Fleet.of(fleet.engine(shop)).members()).hasSize(2);
		assertThat(refused(shop, request)).hasMessageContaining(" ms: still held by application 'job' on ");
		LockHolder holder = shop.status(this.key).holder();
		assertThat(holder).isNotNull().extracting(LockHolder::application).isEqualTo("job");
		assertThat(new LocksEndpoint(fleet.engine(shop)).lock(this.key).holders()).singleElement()
			.extracting(ResourceDescriptor.Holder::instance, ResourceDescriptor.Holder::application)
			.containsExactly(holder.instance(), "job");
		assertThat(shop.admin().forceRelease(this.key)).isTrue();
	}

	@Test
	@DisplayName("The endpoint of a key names its holders, and since when, the same each time")
	void endpoint() {
		LockRequest request = LockRequest.of(this.key).note("inventory");
		LocksEndpoint endpoint = new LocksEndpoint(fleet.engine(shop));
		try (LockLease lease = warehouse.acquire(request)) {
			assertThat(lease.isHeld()).isTrue();
			ResourceDescriptor.Holder holder = endpoint.lock(this.key).holders().get(0);
			assertThat(holder.application()).isEqualTo("warehouse");
			assertThat(holder.host()).isNotBlank();
			assertThat(holder.process()).isEqualTo(ProcessHandle.current().pid());
			assertThat(holder.since()).isEqualTo(shop.status(this.key).since());
			assertThat(endpoint.locks(null, null, this.key, null, null, null, null, null).fleet().locks())
				.flatExtracting(ResourceDescriptor::holders)
				.extracting(ResourceDescriptor.Holder::application, ResourceDescriptor.Holder::since)
				.containsExactly(tuple("warehouse", holder.since()));
			assertThat(endpoint.locks(null, null).fleet().locks()).flatExtracting(ResourceDescriptor::holders)
				.extracting(ResourceDescriptor.Holder::application)
				.containsOnlyNulls();
			assertThat(new LocksEndpoint(fleet.engine(warehouse)).locks(null, null).held())
				.extracting(UsageDescriptor.Request::note)
				.containsExactly("inventory");
		}
	}

}
