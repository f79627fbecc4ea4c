package io.holdfast;

import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * The leases under which code runs.
 */
class LeaseContextTests {

	private final LockLease lock = lease(LockLease.class, "lock");

	private final LockLease inner = lease(LockLease.class, "inner");

	private final PermitLease permits = lease(PermitLease.class, "permits");

	private final LeaseContext context = LeaseContext.empty().with(this.permits).with(this.lock);

	@AfterEach
	void nothingStaysAtTheThread() {
		assertThat(LeaseContext.current()).isSameAs(LeaseContext.empty());
	}

	@Test
	@DisplayName("The innermost lease comes first, of all and of each kind")
	void innermostFirst() {
		LeaseContext more = this.context.with(this.inner);
		assertThat(more.leases()).containsExactly(this.inner, this.lock, this.permits);
		assertThat(more.lease()).isSameAs(this.inner);
		assertThat(more.lock()).isSameAs(this.inner);
		assertThat(more.permits()).isSameAs(this.permits);
		assertThat(more.with(this.permits).lease()).isSameAs(this.permits);
		assertThat(more).hasToString("LeaseContext[inner, lock, permits]");
	}

	@Test
	@DisplayName("A context never changes")
	void immutable() {
		this.context.with(this.inner);
		assertThat(this.context.leases()).containsExactly(this.lock, this.permits);
		assertThat(LeaseContext.empty().leases()).isEmpty();
		assertThatExceptionOfType(UnsupportedOperationException.class)
			.isThrownBy(() -> this.context.leases().add(this.inner));
	}

	@Test
	@DisplayName("Without a lease the message names the annotation for a lease")
	void none() {
		assertThatIllegalStateException().isThrownBy(Lease::current)
			.withMessageStartingWith("There is no lease of a lock or permit here")
			.withMessageContaining("@DistributedLock or @Semaphore")
			.withMessageContaining("called through its bean, nor code that a service runs with a lease")
			.withMessageContaining("open the LeaseContext")
			.withMessageContaining("ask ReactiveLeaseContext.current()");
		assertThatIllegalStateException().isThrownBy(LockLease::current).withMessageContaining("with @DistributedLock");
		assertThatIllegalStateException().isThrownBy(PermitLease::current).withMessageContaining("with @Semaphore");
		assertThatIllegalStateException().isThrownBy(() -> LeaseContext.empty().with(this.lock).permits());
		assertThatIllegalStateException().isThrownBy(() -> LeaseContext.empty().with(this.permits).lock());
	}

	@Test
	@DisplayName("An opened context is the thread's until its scope is closed, which brings the former back")
	void scopes() {
		try (LeaseContext.Scope outer = this.context.open()) {
			assertThat(LeaseContext.current()).isSameAs(this.context);
			assertThat(Lease.current()).isSameAs(this.lock);
			assertThat(LockLease.current()).isSameAs(this.lock);
			assertThat(PermitLease.current()).isSameAs(this.permits);
			try (LeaseContext.Scope inside = LeaseContext.current().with(this.inner).open()) {
				assertThat(Lease.current()).isSameAs(this.inner);
				try (LeaseContext.Scope none = LeaseContext.empty().open()) {
					assertThat(LeaseContext.current().leases()).isEmpty();
					assertThat(none).isNotSameAs(inside);
				}
				assertThat(Lease.current()).isSameAs(this.inner);
			}
			assertThat(LeaseContext.current()).isSameAs(this.context);
			assertThat(outer).isNotNull();
		}
		assertThat(LeaseContext.current()).isSameAs(LeaseContext.empty());
	}

	@Test
	@DisplayName("A scope may name its owner, which is that of the thread's context until the next scope")
	void owners() {
		assertThat(LeaseContext.currentOwner()).isNull();
		try (LeaseContext.Scope owned = this.context.open("owner")) {
			assertThat(LeaseContext.current()).isSameAs(this.context);
			assertThat(LeaseContext.currentOwner()).isEqualTo("owner");
			try (LeaseContext.Scope plain = LeaseContext.current().open()) {
				assertThat(LeaseContext.currentOwner()).isNull();
				assertThat(plain).isNotSameAs(owned);
			}
			assertThat(LeaseContext.currentOwner()).isEqualTo("owner");
		}
		assertThat(LeaseContext.currentOwner()).isNull();
	}

	@Test
	@DisplayName("A scope is closed also after a failure")
	void scopeOfFailure() {
		assertThatIllegalStateException().isThrownBy(() -> {
			try (LeaseContext.Scope scope = this.context.open()) {
				throw new IllegalStateException("in " + scope);
			}
		});
	}

	@Test
	@DisplayName("A context belongs to its thread only: other threads, also its children, have none before they open"
			+ " it")
	void otherThreads() throws Exception {
		try (LeaseContext.Scope scope = this.context.open()) {
			CompletableFuture<LeaseContext> otherContext = new CompletableFuture<>();
			Thread thread = new Thread(() -> otherContext.complete(LeaseContext.current()));
			thread.start();
			assertThat(otherContext.get().leases()).isEmpty();
			assertThat(scope).isNotNull();
		}
	}

	private static <L extends Lease> L lease(Class<L> type, String name) {
		Object proxy = Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type },
				(self, method, arguments) -> switch (method.getName()) {
					case "toString" -> name;
					case "hashCode" -> name.hashCode();
					case "equals" -> self == arguments[0];
					default -> throw new UnsupportedOperationException(method.getName());
				});
		return type.cast(proxy);
	}

}
