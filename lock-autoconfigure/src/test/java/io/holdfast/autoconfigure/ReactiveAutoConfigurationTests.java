package io.holdfast.autoconfigure;

import java.util.concurrent.CompletableFuture;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.reactive.ReactiveLockService;
import io.holdfast.reactive.ReactiveSemaphoreService;
import io.holdfast.testing.TestApplication;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.mockito.Mockito;

import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;

/**
 * Reactive services of an application.
 */
class ReactiveAutoConfigurationTests {

	private final ApplicationContextRunner runner = TestApplication.runner(HoldfastReactiveAutoConfiguration.class);

	private final ApplicationContextRunner ownLocks = this.runner.withBean("own", LockService.class,
			() -> Mockito.mock(LockService.class));

	@Test
	@DisplayName("Reactive services wrap the application's own services, if present")
	void ofOwnService() {
		this.ownLocks.run((context) -> {
			LockLease lease = Mockito.mock();
			given(context.getBean(LockService.class).acquireAsync(any()))
				.willReturn(CompletableFuture.completedFuture(lease));
			assertThat(context.getBean(ReactiveLockService.class).acquire("a").block()).isSameAs(lease);
		});
	}

	@Test
	@DisplayName("Without Reactor, without a service, or with several, there are none")
	void backsOff() {
		this.runner.withClassLoader(new FilteredClassLoader("reactor"))
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(LockService.class)
				.doesNotHaveBean("holdfastReactiveLockService")
				.doesNotHaveBean("holdfastReactiveSemaphoreService"));
		this.runner.withPropertyValues("holdfast.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(ReactiveLockService.class));
		this.ownLocks.withBean("more", LockService.class, () -> Mockito.mock(LockService.class))
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(ReactiveLockService.class)
				.hasSingleBean(ReactiveSemaphoreService.class));
	}

	@Test
	@DisplayName("An application's own reactive services take precedence")
	void ownReactiveService() {
		this.runner.withBean("own", ReactiveLockService.class, () -> new ReactiveLockService(Mockito.mock()))
			.run((context) -> assertThat(context.getBeanNamesForType(ReactiveLockService.class))
				.containsExactly("own"));
	}

}
