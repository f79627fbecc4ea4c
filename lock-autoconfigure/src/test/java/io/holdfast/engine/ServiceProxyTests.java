package io.holdfast.engine;

import java.util.ArrayList;
import java.util.List;

import io.holdfast.LockRequest;
import io.holdfast.LockService;
import io.holdfast.SemaphoreRequest;
import io.holdfast.SemaphoreService;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.aop.aspectj.AspectJExpressionPointcut;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.DefaultPointcutAdvisor;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Aspects of applications around the services.
 */
class ServiceProxyTests {

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	@DisplayName("A pointcut matches all requests of a service, by its interface or by its class")
	void pointcutsMatch(boolean ofClass) {
		try (LeaseEngine engine = new LeaseEngine(new MemoryLeaseStore(new MemoryLeases(System::nanoTime)),
				EngineSettings.defaults())) {
			List<String> calls = new ArrayList<>();
			LockService locks = (LockService) proxy(new DefaultLockService(engine), ofClass, calls);
			locks.acquire(LockRequest.of("stock")).close();
			locks.tryAcquire(LockRequest.of("stock")).orElseThrow().close();
			locks.acquireAsync(LockRequest.of("stock")).join().close();
			locks.tryAcquireAsync(LockRequest.of("stock")).join().orElseThrow().close();
			SemaphoreService semaphores = (SemaphoreService) proxy(new DefaultSemaphoreService(engine), ofClass, calls);
			semaphores.acquire(SemaphoreRequest.of("calls", 1)).close();
			semaphores.tryAcquire(SemaphoreRequest.of("calls", 1)).orElseThrow().close();
			semaphores.acquireAsync(SemaphoreRequest.of("calls", 1)).join().close();
			semaphores.tryAcquireAsync(SemaphoreRequest.of("calls", 1)).join().orElseThrow().close();
			List<String> requests = List.of("acquire", "tryAcquire", "acquireAsync", "tryAcquireAsync");
			assertThat(calls.subList(0, 4)).isEqualTo(requests);
			assertThat(calls.subList(4, 8)).isEqualTo(requests);
		}
	}

	private static Object proxy(Object service, boolean ofClass, List<String> calls) {
		AspectJExpressionPointcut pointcut = new AspectJExpressionPointcut();
		pointcut.setExpression(
				ofClass ? "within(io.holdfast.engine.Default*Service)" : "execution(* io.holdfast.*Service.*(..))");
		ProxyFactory factory = new ProxyFactory(service);
		factory.setProxyTargetClass(ofClass);
		factory.addAdvisor(new DefaultPointcutAdvisor(pointcut, (MethodInterceptor) (call) -> {
			calls.add(call.getMethod().getName());
			return call.proceed();
		}));
		return factory.getProxy();
	}

}
