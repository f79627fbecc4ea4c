package io.holdfast.autoconfigure;

import java.io.IOException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;

import io.holdfast.LockMode;
import io.holdfast.annotation.DistributedLock;
import io.holdfast.annotation.OnLoss;
import io.holdfast.annotation.OnTimeout;
import io.holdfast.annotation.ReleaseAfter;
import io.holdfast.annotation.Semaphore;
import io.holdfast.engine.LeaseEngine;
import kotlin.UInt;
import kotlin.ULong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.quartz.JobDetail;

import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.InMemoryGeneratedFiles;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.TypeReference;
import org.springframework.aot.hint.predicate.ReflectionHintsPredicates;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Runtime hints of a native image for annotated methods and for Holdfast itself.
 */
@ExtendWith(OutputCaptureExtension.class)
class RuntimeHintsTests {

	private static final ReflectionHintsPredicates REFLECTION = RuntimeHintsPredicates.reflection();

	private static RuntimeHints hints;

	private static InMemoryGeneratedFiles files;

	private static String output;

	@BeforeAll
	static void process(CapturedOutput captured) {
		DefaultGenerationContext generation = generate(Application.class);
		hints = generation.getRuntimeHints();
		files = (InMemoryGeneratedFiles) generation.getGeneratedFiles();
		output = captured.toString();
	}

	private static DefaultGenerationContext generate(Class<?> application) {
		DefaultGenerationContext generation = new DefaultGenerationContext(
				new ClassNameGenerator(org.springframework.javapoet.ClassName.get(RuntimeHintsTests.class)),
				new InMemoryGeneratedFiles());
		try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
			TestPropertyValues.of("holdfast.backend=memory", "shop.key=#order.customer.name").applyTo(context);
			context.register(application);
			RootBeanDefinition outer = new RootBeanDefinition(Outer.class);
			outer.getPropertyValues().add("inner", new RootBeanDefinition(Inner.class));
			context.registerBeanDefinition("outer", outer);
			new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
		}
		generation.writeGeneratedContent();
		return generation;
	}

	private static boolean has(Predicate<RuntimeHints> hint) {
		return hint.test(hints);
	}

	@Test
	@DisplayName("Every script has a hint")
	void scripts() throws IOException {
		Resource[] scripts = new PathMatchingResourcePatternResolver()
			.getResources("classpath*:/io/holdfast/redis/*.lua");
		assertThat(scripts).hasSizeGreaterThan(10).allSatisfy((script) -> {
			String path = "io/holdfast/redis/" + script.getFilename();
			assertThat(has(RuntimeHintsPredicates.resource().forResource(path))).as(path).isTrue();
		});
	}

	@Test
	@DisplayName("The annotations and the types of their attributes have hints")
	void annotations() {
		for (Class<?> annotation : List.of(DistributedLock.class, Semaphore.class)) {
			for (Method attribute : annotation.getDeclaredMethods()) {
				assertThat(has(REFLECTION.onMethodInvocation(attribute))).as(attribute.toString()).isTrue();
				if (attribute.getReturnType().isEnum()) {
					assertThat(has(REFLECTION.onType(attribute.getReturnType()))).as(attribute.toString()).isTrue();
				}
			}
		}
		assertThat(Stream.of(LockMode.class, OnTimeout.class, OnLoss.class, ReleaseAfter.class))
			.allMatch((type) -> has(REFLECTION.onFieldAccess(type, type.getEnumConstants()[0].toString())));
	}

	@ParameterizedTest
	@ValueSource(strings = { "io.lettuce.core.RedisClient", "reactor.core.publisher.Flux",
			"org.springframework.transaction.support.TransactionSynchronizationManager",
			"kotlinx.coroutines.reactor.MonoKt" })
	@DisplayName("Classes that Holdfast finds by name have hints")
	void optional(String type) {
		assertThat(has(REFLECTION.onType(TypeReference.of(type)))).isTrue();
	}

	@Test
	@DisplayName("The getter of a Quartz job's class has a hint")
	void quartz() {
		assertThat(has(REFLECTION.onMethodInvocation(JobDetail.class, "getJobClass"))).isTrue();
	}

	@Test
	@DisplayName("Annotated methods and their fallbacks have hints")
	void methods() throws NoSuchMethodException {
		List<String> annotated = Arrays.stream(Shop.class.getDeclaredMethods())
			.filter((method) -> method.isAnnotationPresent(DistributedLock.class))
			.map(Method::getName)
			.toList();
		assertThat(annotated).isNotEmpty().allMatch((name) -> has(REFLECTION.onMethodInvocation(Shop.class, name)));
		assertThat(has(REFLECTION.onMethodInvocation(Shop.class.getDeclaredMethod("approximately", Order.class))))
			.isTrue();
		assertThat(has(REFLECTION.onMethodInvocation(BaseOfShop.class, "approximately"))).as("it is overloaded")
			.isTrue();
	}

	@Test
	@DisplayName("Annotated methods of an interface that a factory implements have hints")
	void factory() {
		assertThat(has(REFLECTION.onMethodInvocation(Repository.class, "find"))).isTrue();
		assertThat(has(REFLECTION.onMethodInvocation(Query.class, "text"))).isTrue();
	}

	@Test
	@DisplayName("Annotated methods of an inner bean have hints")
	void inner() {
		assertThat(has(REFLECTION.onMethodInvocation(Inner.class, "run"))).isTrue();
	}

	static Stream<Arguments> expressions() {
		return Stream.of(Arguments.of("property of a parameter", Order.class, "getCustomer"),
				Arguments.of("component of a record, nested", Customer.class, "name"),
				Arguments.of("method call", Customer.class, "code"),
				Arguments.of("static method", Formats.class, "shorten"), Arguments.of("bean", Tenants.class, "current"),
				Arguments.of("property of a bean's result", Tenant.class, "id"),
				Arguments.of("projection over a collection", Line.class, "sku"),
				Arguments.of("method in a projection", Sku.class, "number"),
				Arguments.of("selection", Line.class, "count"), Arguments.of("index in a list", Line.class, "first"),
				Arguments.of("index in a map", Line.class, "mapped"),
				Arguments.of("index in an array", Line.class, "inArray"),
				Arguments.of("in a condition", Order.class, "total"),
				Arguments.of("generic parameter", Line.class, "generic"),
				Arguments.of("of a semaphore", Line.class, "limited"),
				Arguments.of("by a placeholder", Customer.class, "name"),
				Arguments.of("by an annotation of one's own", Line.class, "composed"),
				Arguments.of("the root's method", Method.class, "getName"));
	}

	@ParameterizedTest(name = "{0}")
	@MethodSource("expressions")
	@DisplayName("Methods in an expression have hints")
	void read(String use, Class<?> type, String method) {
		assertThat(has(REFLECTION.onMethodInvocation(type, method))).as(use).isTrue();
	}

	@Test
	@DisplayName("Fields, types and constructors in an expression have hints")
	void others() throws NoSuchMethodException {
		assertThat(has(REFLECTION.onFieldAccess(Line.class, "open"))).isTrue();
		assertThat(has(REFLECTION.onFieldAccess(Formats.class, "PREFIX"))).isTrue();
		assertThat(has(REFLECTION.onType(Formats.class))).isTrue();
		assertThat(has(REFLECTION.onConstructorInvocation(Sku.class.getConstructor(String.class)))).isTrue();
		assertThat(has(REFLECTION.onType(TypeReference.of("io.holdfast.aop.CallExpression$Root")))).isTrue();
	}

	@ParameterizedTest
	@ValueSource(classes = { ULong.class, UInt.class })
	@DisplayName("The content of a Kotlin value class has a hint, also in a list")
	void valueClasses(Class<?> type) throws NoSuchMethodException {
		assertThat(has(REFLECTION.onMethodInvocation(type.getMethod("unbox-impl")))).isTrue();
	}

	@Test
	@DisplayName("Members outside of expressions have no hints")
	void nothingElse() {
		assertThat(has(REFLECTION.onMethodInvocation(Order.class, "getSecret"))).isFalse();
		assertThat(has(REFLECTION.onMethodInvocation(Line.class, "unread"))).isFalse();
	}

	@Test
	@DisplayName("An expression with a placeholder of the run is logged, and does not stop the build")
	void incomplete() {
		assertThat(output)
			.containsOnlyOnce("Shop.incomplete(Order): the expression ${only.at.run.time} cannot be parsed");
	}

	@Test
	@DisplayName("Proxies are generated ahead of time, with neither Redis nor an engine")
	void proxies() {
		Map<String, ?> classes = files.getGeneratedFiles(org.springframework.aot.generate.GeneratedFiles.Kind.CLASS);
		assertThat(classes.keySet()).anyMatch((name) -> name.contains("RuntimeHintsTests$Shop$$SpringCGLIB$$0"));
		assertThat(has(REFLECTION.onType(TypeReference.of(Shop.class.getName() + "$$SpringCGLIB$$0")))).isTrue();
		assertThat(files.getGeneratedFiles(org.springframework.aot.generate.GeneratedFiles.Kind.SOURCE).keySet())
			.anyMatch((name) -> name.contains("HoldfastAopAutoConfiguration__BeanDefinitions"))
			.anyMatch((name) -> name.contains(LeaseEngine.class.getSimpleName())
					|| name.contains("MemoryBackendConfiguration__BeanDefinitions"));
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ HoldfastSwitchAutoConfiguration.class, HoldfastAutoConfiguration.class,
			HoldfastAopAutoConfiguration.class })
	@Import({ Shop.class, Tenants.class, RepositoryFactory.class, GenericShop.class })
	static class Application {

	}

	public static class BaseOfShop {

		String approximately(String sku) {
			return sku;
		}

	}

	public static class Shop extends BaseOfShop {

		@DistributedLock(key = "#order.customer.name", fallback = "approximately")
		public String property(Order order) {
			return "";
		}

		String approximately(Order order) {
			return "";
		}

		@DistributedLock(key = "#order.customer.code()", condition = "#order.total > 1")
		public void calls(Order order) {
		}

		@DistributedLock(key = "T(io.holdfast.autoconfigure.RuntimeHintsTests$Formats).shorten('a')"
				+ " + T(io.holdfast.autoconfigure.RuntimeHintsTests$Formats).PREFIX"
				+ " + new io.holdfast.autoconfigure.RuntimeHintsTests$Sku('a')")
		public void statics() {
		}

		@DistributedLock(key = "@'" + TENANTS + "'.current().id")
		public void bean() {
		}

		@DistributedLock(key = "#order.lines.![sku.number()]")
		public void projection(Order order) {
		}

		@DistributedLock(key = "#order.lines.?[count > 1].![open]")
		public void selection(Order order) {
		}

		@DistributedLock(key = "#lines[0].first + #map['a'].mapped + #array[0].inArray")
		public void index(List<Line> lines, Map<String, Line> map, Line[] array) {
		}

		@Semaphore(key = "#line.get().limited", limit = 1)
		public void limited(Optional<Line> line) {
		}

		@DistributedLock(key = "#number + '' + #numbers[0]")
		public void valueClasses(ULong number, List<UInt> numbers) {
		}

		@DistributedLock(key = "${shop.key}")
		public void placeholder(Order order) {
		}

		@DistributedLock(key = "${only.at.run.time}")
		public void incomplete(Order order) {
		}

		@Composed
		public void composed(Line line) {
		}

		@DistributedLock(key = "#root.method.name")
		public void root() {
		}

	}

	static final String TENANTS = "io.holdfast.autoconfigure.RuntimeHintsTests$Tenants";

	@DistributedLock(key = "#line.composed")
	@java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
	@interface Composed {

	}

	public abstract static class Generic<T> {

		@DistributedLock(key = "#item.generic")
		public void generic(T item) {
		}

	}

	public static class GenericShop extends Generic<Line> {

	}

	public static class Tenants {

		public Tenant current() {
			return new Tenant("a");
		}

	}

	public record Tenant(String id) {
	}

	public static class Formats {

		/** Read by an expression. */
		public static final String PREFIX = "a";

		public static String shorten(String text) {
			return text;
		}

	}

	public abstract static class Order {

		public abstract @Nullable Customer getCustomer();

		public abstract int total();

		public abstract Collection<Line> getLines();

		public abstract String getSecret();

	}

	public record Customer(String name) {

		public String code() {
			return this.name;
		}

	}

	public abstract static class Line {

		/** Read by an expression. */
		public String open = "a";

		public abstract Sku sku();

		public abstract int count();

		public abstract String first();

		public abstract String mapped();

		public abstract String inArray();

		public abstract String generic();

		public abstract String limited();

		public abstract String composed();

		public abstract String unread();

	}

	public static class Sku {

		private final String number;

		public Sku(String number) {
			this.number = number;
		}

		public String number() {
			return this.number;
		}

	}

	public static class Outer {

		public void setInner(Inner inner) {
		}

	}

	public static class Inner {

		@DistributedLock(name = "inner")
		public void run() {
		}

	}

	/** Repository, as in Spring Data. */
	interface Repository {

		@DistributedLock(key = "#query.text")
		Object find(Query query);

	}

	public record Query(String text) {
	}

	static class RepositoryFactory implements FactoryBean<Repository> {

		@Override
		public Repository getObject() {
			return (query) -> query;
		}

		@Override
		public Class<?> getObjectType() {
			return Repository.class;
		}

	}

}
