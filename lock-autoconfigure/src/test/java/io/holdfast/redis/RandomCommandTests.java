package io.holdfast.redis;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.stream.Stream;

import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.LeaseStore.AcquireCommand;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.ReleaseReply;
import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.LeaseStore.Standing;
import io.holdfast.engine.store.LeaseStore.TokenState;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.memory.MemoryLeaseStore;
import io.holdfast.memory.MemoryLeases;
import io.holdfast.testing.RedisTestCase;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static io.holdfast.engine.store.StoreContract.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Random commands of three instances. The simulation of the engine runs on the store in
 * memory, and so each answer of the scripts has to be the same.
 */
class RandomCommandTests extends RedisTestCase {

	/** Longer than the test. */
	private static final long LEASE = 600_000;

	private static final int HISTORIES = 50;

	private final MemoryLeases memory = new MemoryLeases(System::nanoTime, Duration.ofMillis(LEASE));

	private final List<Instance> instances = new ArrayList<>();

	private int number;

	@Test
	@DisplayName("Redis and the store in memory answer each history of commands alike")
	void histories() throws Exception {
		TestStores stores = new TestStores(this.redis.keyPrefix(), this.redis.template(),
				() -> this.redis.connectionFactory())
			.handoffTimeout(Duration.ofMillis(LEASE));
		for (boolean polling : List.of(false, false, true)) {
			this.instances.add(new Instance(stores.open(polling), new MemoryLeaseStore(this.memory), polling));
		}
		try {
			for (int seed = 0; seed < HISTORIES; seed++) {
				Random random = new Random(seed);
				compare(new Resource(Kind.values()[seed % 2], "k" + seed), random, 5 + random.nextInt(40));
			}
		}
		finally {
			this.instances.forEach((instance) -> instance.redis.close());
			stores.closeConnections();
		}
	}

	private void compare(Resource resource, Random random, int steps) {
		List<AcquireCommand> known = new ArrayList<>();
		StringBuilder history = new StringBuilder(resource.toString());
		for (int i = 0; i < steps; i++) {
			AcquireCommand command = (known.isEmpty() || random.nextInt(3) == 0) ? command(resource, random, null)
					: known.get(Math.max(0, known.size() - 1 - random.nextInt(8)));
			boolean isNew = !known.contains(command);
			Instance instance = of(command);
			Function<LeaseStore, CompletableFuture<?>> step;
			int kind = isNew ? 0 : random.nextInt(7);
			if (isNew) {
				known.add(command);
			}
			if (kind <= 1) {
				boolean enqueue = !isNew || random.nextInt(4) > 0;
				step = (store) -> store.acquire(resource, command, enqueue);
			}
			else if (kind == 2) {
				step = (store) -> store.release(resource, command, null);
			}
			else if (kind == 3) {
				AcquireCommand next = command(resource, random, instance);
				known.add(next);
				step = (store) -> store.release(resource, command, next);
			}
			else if (kind == 4) {
				Renewal renewal = new Renewal(resource, command.token(), command.permits(), LEASE);
				step = random.nextBoolean() ? (store) -> store.retain(renewal)
						: (store) -> store.renew(List.of(renewal));
			}
			else if (kind == 5 || resource.kind() == Kind.LOCK) {
				List<String> tokens = Stream
					.concat(Stream.of(command), known.stream().filter((c) -> random.nextInt(3) == 0))
					.map(AcquireCommand::token)
					.distinct()
					.toList();
				step = (store) -> store.force(resource, tokens);
			}
			else {
				Integer limit = (random.nextInt(3) == 0) ? null : (Integer) random.nextInt(8);
				step = (store) -> store.limit(resource, limit);
			}
			String answer = describe(get(step.apply(instance.redis)));
			String expected = describe(get(step.apply(instance.memory)));
			history.append('\n').append(kind).append(' ').append(command).append(": ").append(expected);
			assertThat(answer).as(history.toString()).isEqualTo(expected);
			assertThat(state(instance.redis, resource)).as(history.toString())
				.isEqualTo(state(instance.memory, resource));
			// A polling instance learns only of grants in the answers to its own
			// commands.
			this.instances.stream()
				.filter((each) -> !each.polling)
				.forEach((each) -> await(history.toString()).pollDelay(Duration.ZERO)
					.until(() -> each.received.stream().sorted().toList(),
							each.expected.stream().sorted().toList()::equals));
		}
	}

	private AcquireCommand command(Resource resource, Random random, @Nullable Instance of) {
		Instance instance = (of != null) ? of : this.instances.get(random.nextInt(this.instances.size()));
		String token = instance.id + ":" + ++this.number;
		return (resource.kind() == Kind.LOCK)
				? new AcquireCommand(token, random.nextBoolean() ? 1 : Resource.ALL, Resource.ALL, true, LEASE, LEASE)
				: new AcquireCommand(token, 1 + random.nextInt(3), List.of(0, 2, 3, 5).get(random.nextInt(4)),
						random.nextInt(4) > 0, LEASE, LEASE);
	}

	private Instance of(AcquireCommand command) {
		return this.instances.stream()
			.filter((instance) -> command.token().startsWith(instance.id))
			.findFirst()
			.orElseThrow();
	}

	/** Describe an answer without times. */
	private static String describe(Object answer) {
		if (answer instanceof ReleaseReply reply) {
			return reply.released() + " " + reply.certain() + " "
					+ ((reply.next() != null) ? describe(reply.next()) : "");
		}
		if (answer instanceof Busy busy) {
			return "busy " + busy.held() + " of " + busy.limit() + ", " + busy.owner() + busy.foreign();
		}
		return (answer instanceof Granted) ? "granted" : answer.toString();
	}

	private static List<Object> state(LeaseStore store, Resource resource) {
		Standing standing = get(store.inspect(resource, 1000, 1000));
		return List.of(String.valueOf(standing.limit()), standing.used(), standing.holderCount(), standing.waiting(),
				standing.holders().stream().map(RandomCommandTests::describe).sorted().toList(),
				standing.queue().stream().map(RandomCommandTests::describe).toList());
	}

	private static String describe(TokenState state) {
		return state.token() + " " + state.permits();
	}

	/** Instance, with the notifications of both stores. */
	private static final class Instance {

		private final String id = UUID.randomUUID().toString().replace("-", "");

		private final LeaseStore redis;

		private final MemoryLeaseStore memory;

		private final boolean polling;

		private final List<String> received = new CopyOnWriteArrayList<>();

		private final List<String> expected = new CopyOnWriteArrayList<>();

		Instance(LeaseStore redis, MemoryLeaseStore memory, boolean polling) {
			this.redis = redis;
			this.memory = memory;
			this.polling = polling;
			redis.start(this.id, recorder(this.received));
			memory.start(this.id, recorder(this.expected));
			memory.setListening(!polling);
			await().until(() -> polling || redis.isListening());
		}

		private static StoreNotifications recorder(List<String> received) {
			return new StoreNotifications() {

				@Override
				public void granted(Resource resource, String token, long fence, long ttlMillis) {
					received.add(resource + " " + token + " " + (ttlMillis > 0));
				}

				@Override
				public void ended(String token, long nextFence) {
					received.add(token);
				}

				@Override
				public void listening() {
				}

				@Override
				public void reportWanted(String report) {
				}

			};
		}

	}

}
