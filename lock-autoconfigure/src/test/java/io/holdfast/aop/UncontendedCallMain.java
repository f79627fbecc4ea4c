package io.holdfast.aop;

import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import java.util.stream.Stream;

import io.holdfast.annotation.DistributedLock;
import io.holdfast.testing.TestApplication;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.field.FieldDescription;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.type.TypeDefinition;
import net.bytebuddy.matcher.ElementMatcher;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.util.StringUtils;

import static net.bytebuddy.matcher.ElementMatchers.isConstructor;
import static net.bytebuddy.matcher.ElementMatchers.isMethod;
import static net.bytebuddy.matcher.ElementMatchers.isSynthetic;
import static net.bytebuddy.matcher.ElementMatchers.nameContains;
import static net.bytebuddy.matcher.ElementMatchers.nameStartsWith;
import static net.bytebuddy.matcher.ElementMatchers.none;
import static net.bytebuddy.matcher.ElementMatchers.not;

/**
 * Main class of a child JVM that repeatedly calls a method with a free lock, and prints
 * the calls from class to class in Holdfast until the method runs, on any thread. Within
 * a class and its superclasses calls are not counted, nor are constructors and accessors:
 * methods without parameters that are named as a field of their class, as a field of such
 * a field's type, or {@code get…}. Then it prints the types of Holdfast whose code runs
 * for a call, constructors and accessors too: until the method runs, and from then on
 * until Redis has answered the release. Arguments: host, port, key prefix, and the goal
 * for the number of calls.
 */
public final class UncontendedCallMain {

	private static final int WARM_UP = 200;

	/**
	 * Enough calls for some early answers, also on a busy machine: an answer before the
	 * requesting thread waits saves a call. The loop ends with the first result within
	 * the goal.
	 */
	private static final int MEASURED = 1000;

	/** Number of calls whose types are counted. */
	private static final int TYPED = 100;

	private UncontendedCallMain() {
	}

	public static void main(String[] args) {
		new AgentBuilder.Default(new ByteBuddy().ignore(none()))
			// Without a cache, each class would be read again for each field of its type.
			.with(new AgentBuilder.PoolStrategy.WithTypePoolCache.Simple(new ConcurrentHashMap<>()))
			.ignore(none())
			.type(nameStartsWith("io.holdfast.").and(not(nameContains(UncontendedCallMain.class.getSimpleName()))))
			.transform(
					(builder, type, loader, module, domain) -> builder
						.visit(Advice.to(Entry.class)
							.on(isMethod().and(not(isAccessor()))
								.and(not(isSynthetic().and(not(nameStartsWith("lambda$")))))))
						.visit(Advice.to(Touch.class).on(isMethod().or(isConstructor()))))
			.installOn(ByteBuddyAgent.install());
		try (ConfigurableApplicationContext context = TestApplication.start(Stock.class, args[0],
				Integer.parseInt(args[1]), args[2], List.of())) {
			Stock stock = context.getBean(Stock.class);
			StringRedisTemplate redis = context.getBean(StringRedisTemplate.class);
			for (int i = 0; i < WARM_UP; i++) {
				calls(stock, redis);
			}
			List<String> fewest = calls(stock, redis);
			for (int i = 1; i < MEASURED && fewest.size() > Integer.parseInt(args[3]); i++) {
				List<String> calls = calls(stock, redis);
				fewest = (calls.size() < fewest.size()) ? calls : fewest;
			}
			fewest.forEach(System.out::println);
			System.out.println("calls: " + fewest.size());
			printTypes(stock, redis);
		}
	}

	/**
	 * Print the types that most calls touch: the rest belong to a heartbeat, or to an
	 * early or late answer.
	 */
	private static void printTypes(Stock stock, StringRedisTemplate redis) {
		Map<String, Integer> acquiring = new TreeMap<>();
		Map<String, Integer> releasing = new TreeMap<>();
		for (int i = 0; i < TYPED; i++) {
			Types.TOUCHED.clear();
			stock.touch("A1", (type) -> acquiring.merge(type, 1, Integer::sum));
			awaitRelease(redis);
			Types.TOUCHED.forEach((type) -> releasing.merge(type, 1, Integer::sum));
		}
		Set<String> all = new TreeSet<>();
		print("acquire", acquiring, all);
		print("release", releasing, all);
		System.out.println("types: " + all.size());
	}

	private static void print(String phase, Map<String, Integer> touched, Set<String> all) {
		Set<String> types = new TreeSet<>(touched.keySet());
		types.removeIf((type) -> touched.get(type) < TYPED / 2);
		types.forEach((type) -> System.out.println(phase + " touches " + type));
		System.out
			.println(phase + ": " + types.stream().filter((type) -> type.startsWith("io.holdfast.engine.")).count());
		all.addAll(types);
	}

	private static List<String> calls(Stock stock, StringRedisTemplate redis) {
		awaitRelease(redis);
		Calls.MADE.clear();
		return stock.sell("A1");
	}

	/**
	 * Wait for the end of the release, which no caller awaits: answers of a connection
	 * come in order.
	 */
	private static void awaitRelease(StringRedisTemplate redis) {
		redis.hasKey("any");
	}

	private static ElementMatcher<MethodDescription> isAccessor() {
		return (method) -> method.getParameters().isEmpty()
				&& (method.getName().startsWith("get") || isOfField(method));
	}

	private static boolean isOfField(MethodDescription method) {
		String name = StringUtils.capitalize(method.getName());
		return fields(method.getDeclaringType())
			.flatMap((field) -> Stream.concat(Stream.of(field), fields(field.getType())))
			.map((field) -> StringUtils.capitalize(field.getName()))
			.anyMatch(List.of(name, name.startsWith("Is") ? name.substring(2) : name)::contains);
	}

	/** Return the fields of a class of Holdfast; of a foreign class, none. */
	private static Stream<FieldDescription> fields(TypeDefinition type) {
		return type.getTypeName().startsWith("io.holdfast.") ? type.getDeclaredFields().stream().map((field) -> field)
				: Stream.empty();
	}

	public static final class Calls {

		/** Pairs of calling class and called method. */
		public static final Queue<String> MADE = new ConcurrentLinkedQueue<>();

		/** Class whose method runs on the current thread. */
		public static final ThreadLocal<Class<?>> RUNNING = new ThreadLocal<>();

		private Calls() {
		}

		/** Record a call. */
		public static Class<?> enter(Class<?> type, String method) {
			Class<?> caller = RUNNING.get();
			if (caller == null || !type.isAssignableFrom(caller) && !caller.isAssignableFrom(type)) {
				MADE.add(((caller != null) ? caller.getSimpleName() : Thread.currentThread().getName()) + " calls "
						+ type.getSimpleName() + "." + method);
			}
			RUNNING.set(type);
			return caller;
		}

	}

	/** Advice for the methods. */
	private static final class Entry {

		@Advice.OnMethodEnter
		static Class<?> enter(@Advice.Origin Class<?> type, @Advice.Origin("#m") String method) {
			return Calls.enter(type, method);
		}

		@Advice.OnMethodExit(onThrowable = Throwable.class)
		static void exit(@Advice.Enter Class<?> caller) {
			Calls.RUNNING.set(caller);
		}

	}

	/** Types whose code ran. */
	public static final class Types {

		/** Names of the types. */
		public static final Set<String> TOUCHED = ConcurrentHashMap.newKeySet();

		private Types() {
		}

	}

	/** Advice for all methods and constructors. */
	private static final class Touch {

		@Advice.OnMethodEnter
		static void enter(@Advice.Origin("#t") String type) {
			Types.TOUCHED.add(type);
		}

	}

	static class Stock {

		@DistributedLock(key = "'stock:' + #sku")
		List<String> sell(String sku) {
			return List.copyOf(Calls.MADE);
		}

		@DistributedLock(key = "'stock:' + #sku")
		void touch(String sku, Consumer<String> touched) {
			Types.TOUCHED.forEach(touched);
			Types.TOUCHED.clear();
		}

	}

}
