package io.holdfast.aop;

import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Spliterator;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.Semaphore;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.modifier.Visibility;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import net.bytebuddy.implementation.StubMethod;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.Slice;
import org.springframework.data.domain.Window;
import org.springframework.http.ResponseEntity;
import org.springframework.web.context.request.async.DeferredResult;
import org.springframework.web.context.request.async.WebAsyncTask;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Results whose work follows the return of the method, so that no lock can be held until
 * its end.
 */
class OpenEndedResultTests extends LockedTestCase {

	static Stream<Method> refused() {
		return Stream.of(Refused.class.getDeclaredMethods()).filter((method) -> !method.isSynthetic());
	}

	static Stream<Method> accepted() {
		return Stream.of(Accepted.class.getDeclaredMethods()).filter((method) -> !method.isSynthetic());
	}

	private static AnnotatedMethod declaration(Method method) {
		return new AnnotatedMethod(MergedAnnotations.from(Locked.class).get(DistributedLock.class), method,
				method.getDeclaringClass(), method, (text) -> text);
	}

	@ParameterizedTest
	@MethodSource("refused")
	void refused(Method method) {
		assertThat(ReturnKind.of(declaration(method))).isEqualTo(ReturnKind.UNSUPPORTED);
	}

	@ParameterizedTest
	@MethodSource("accepted")
	void accepted(Method method) {
		assertThat(ReturnKind.of(declaration(method))).isNotEqualTo(ReturnKind.UNSUPPORTED);
	}

	@Test
	@DisplayName("The start fails, and the message names place, type and a better return type")
	void message() {
		assertThat(refusal(Streaming.class))
			.hasMessageContaining("@DistributedLock on " + Streaming.class.getName() + ".rows()")
			.hasMessageContaining("returns java.util.stream.Stream<java.lang.String>")
			.hasMessageContaining("Return a List or a Flux, or annotate the method that does the work");
		assertThat(refusal(Supplying.class))
			.hasMessageContaining("@Semaphore on " + Supplying.class.getName() + ".later()")
			.hasMessageContaining("Return the result itself or a CompletableFuture");
		assertThat(refusal(LockedType.class)).hasMessageContaining("declared by")
			.hasMessageContaining("returns " + ResponseEntity.class.getName() + "<reactor.core.publisher.Flux");
	}

	@Test
	@ExtendWith(OutputCaptureExtension.class)
	@DisplayName("A method that may return any object logs a warning once, if its result has later work")
	void anyObject(CapturedOutput output) {
		AnyObject bean = start(AnyObject.class);
		assertThat(bean.any("text")).isEqualTo("text");
		assertThat(bean.<String>generic("text")).isEqualTo("text");
		assertThat(output).doesNotContain(AnyObject.class.getName());
		for (Object later : List.of(new CompletableFuture<>(), Mono.empty(), new DeferredResult<>())) {
			assertThat(bean.any(later)).isSameAs(later);
		}
		assertThat(bean.<Object>generic(Stream.empty())).isInstanceOf(Stream.class);
		assertThat(output)
			.containsOnlyOnce("@DistributedLock on " + AnyObject.class.getName()
					+ ".any(Object) ended when the method returned, before the work of the "
					+ "java.util.concurrent.CompletableFuture that it returned: declare a CompletableFuture")
			.containsOnlyOnce("@Semaphore on " + AnyObject.class.getName() + ".generic(Object) ended");
	}

	@ParameterizedTest
	@ValueSource(strings = { "StreamingResponseBody", "ResponseBodyEmitter" })
	@DisplayName("Types of Spring MVC and their subtypes are known by name")
	void typesOfSpringMvc(String name) throws NoSuchMethodException {
		DynamicType.Unloaded<?> streaming = new ByteBuddy().subclass(Object.class)
			.name("org.springframework.web.servlet.mvc.method.annotation." + name)
			.make();
		DynamicType.Unloaded<?> derived = new ByteBuddy().subclass(streaming.getTypeDescription())
			.name(getClass().getName() + "$Derived" + name)
			.make();
		Class<?> bean = new ByteBuddy().subclass(Object.class)
			.name(getClass().getName() + "$Returns" + name)
			.defineMethod("stream", derived.getTypeDescription(), Visibility.PUBLIC)
			.intercept(StubMethod.INSTANCE)
			.make()
			.include(streaming, derived)
			.load(getClass().getClassLoader(), ClassLoadingStrategy.Default.WRAPPER)
			.getLoaded();
		AnnotatedMethod declaration = declaration(bean.getMethod("stream"));
		assertThat(ReturnKind.of(declaration)).isEqualTo(ReturnKind.UNSUPPORTED);
		assertThat(ReturnKind.instead(declaration)).isEqualTo("the whole body or a Flux");
	}

	interface Refused {

		Stream<String> stream();

		IntStream intStream();

		Iterator<String> iterator();

		Spliterator<String> spliterator();

		Callable<String> callable();

		Supplier<String> supplier();

		Rows rows();

		WebAsyncTask<String> webAsyncTask();

		DeferredResult<String> deferredResult();

		ResponseEntity<Flux<String>> entityOfFlux();

		ResponseEntity<? extends Callable<String>> entityOfCallable();

		Optional<Stream<String>> optionalStream();

		CompletableFuture<Stream<String>> futureStream();

		CompletionStage<CompletableFuture<String>> futureFuture();

		Mono<ResponseEntity<Flux<String>>> monoOfEntityOfFlux();

		Flux<Publisher<String>> fluxOfPublishers();

	}

	interface Rows extends Iterator<String> {

	}

	interface Accepted {

		void nothing();

		int number();

		Object object();

		List<Supplier<String>> list();

		Collection<String> collection();

		Iterable<String> iterable();

		IntSupplier ofSomeOtherType();

		Optional<String> optional();

		ResponseEntity<List<String>> entity();

		Page<String> page();

		ResponseEntity<Slice<String>> entityOfSlice();

		Mono<Window<String>> monoOfWindow();

		CompletableFuture<Optional<List<String>>> future();

		CompletionStage<Void> stage();

		Mono<ResponseEntity<String>> mono();

		Flux<List<String>> flux();

		<T> T generic();

		<T> Optional<T> genericOptional();

	}

	@DistributedLock
	static class Locked {

	}

	static class Streaming {

		@DistributedLock
		public Stream<String> rows() {
			return Stream.empty();
		}

	}

	static class Supplying {

		@Semaphore(limit = 1)
		public Supplier<String> later() {
			return () -> "";
		}

	}

	static class AnyObject {

		@DistributedLock
		public Object any(Object result) {
			return result;
		}

		@Semaphore(limit = 1)
		public <T> T generic(T result) {
			return result;
		}

	}

	@DistributedLock
	static class LockedType {

		public ResponseEntity<Flux<String>> rows() {
			return ResponseEntity.ok(Flux.empty());
		}

	}

}
