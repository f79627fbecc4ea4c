package io.holdfast.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.holdfast.engine.store.Commands;
import io.holdfast.engine.store.FleetStore;
import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.InstanceStore;
import io.holdfast.engine.store.LeaseStore;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Busy;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Granted;
import io.holdfast.engine.store.LeaseStore.AcquireReply.Rejected;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreCommandException;
import io.holdfast.engine.store.StoreNotifications;
import io.holdfast.engine.store.Tokens;
import org.jspecify.annotations.Nullable;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Scripted store and clock: each command is recorded, and waits for an answer of the
 * test.
 */
public final class ScriptedStore extends ScriptedClock implements LeaseStore {

	private final List<Command> commands = new CopyOnWriteArrayList<>();

	/** Automatic answers by command. */
	private final Map<String, Consumer<Command>> answers = new HashMap<>();

	/** Runs while a command is sent. */
	public Consumer<String> whileSending = (line) -> {
	};

	/** Runs while an instance starts. */
	public Runnable whileStarting = () -> {
	};

	/** Keys of all acquire commands. */
	public final List<String> requestedKeys = new CopyOnWriteArrayList<>();

	public boolean listening = true;

	public long reconnects;

	public long answerNanos = Long.MAX_VALUE;

	/** Time of the loss of the connection, or {@code null}. */
	private @Nullable Long lostAt;

	/** Runs once, during the next {@link #partOf}. */
	public Runnable whileFindingPart = () -> {
	};

	/** Parts of keys, if not 0. */
	public final Map<String, Integer> parts = new HashMap<>();

	/** Registered instances. */
	public List<InstanceStore.Member> members = List.of();

	public @Nullable StoreNotifications wakeUps;

	/** Return the commands since the last call, as lines. */
	public List<String> sent() {
		List<String> lines = this.commands.stream().filter((command) -> !command.seen).map((command) -> {
			command.seen = true;
			return command.line;
		}).toList();
		return lines;
	}

	/** Return the latest command with this beginning. */
	public Command last(String beginning) {
		Command found = null;
		for (Command command : this.commands) {
			if (command.line.equals(beginning) || command.line.startsWith(beginning + " ")) {
				found = command;
			}
		}
		assertThat(found).as("a command " + beginning).isNotNull();
		return found;
	}

	/** Throw an exception, as faulty code. */
	public static void fail() {
		throw new IllegalStateException("on purpose");
	}

	/** Run a blocking call, and grant its command. */
	public <T> T answering(String line, long fence, Supplier<T> blocking) {
		this.answers.put(line, (command) -> command.granted(fence, 30_000));
		return blocking.get();
	}

	/** Answer each command of this line at once. */
	public void answerAtOnce(String line, Consumer<Command> answer) {
		this.answers.put(line, answer);
	}

	/** Answer a renewal that another thread is about to send. */
	public void answerNext(String line) {
		await().until(() -> this.commands.stream().anyMatch((command) -> command.line.equals(line)));
		last(line).renewed(true);
	}

	private <T> CompletableFuture<T> send(String line) {
		Command command = new Command(line);
		command.kept = this.lostAt != null;
		this.commands.add(command);
		this.answers.getOrDefault(line, (sent) -> {
		}).accept(command);
		this.whileSending.accept(line);
		@SuppressWarnings("unchecked")
		CompletableFuture<T> answer = (CompletableFuture<T>) command.answer;
		return answer;
	}

	private static String number(String token) {
		return String.valueOf(Tokens.number(token));
	}

	@Override
	public void start(String instanceId, StoreNotifications wakeUps) {
		this.whileStarting.run();
		this.wakeUps = wakeUps;
		this.listening = true;
	}

	@Override
	public void stop() {
		this.listening = false;
	}

	@Override
	public boolean isListening() {
		return this.listening;
	}

	/** Return false for commands sent while the connection is lost. */
	@Override
	public boolean mayRun(CompletableFuture<?> command) {
		return this.commands.stream().noneMatch((sent) -> sent.answer == command && sent.kept);
	}

	@Override
	public long unreachedNanos() {
		return (this.lostAt != null) ? Math.max(1, this.now - this.lostAt) : 0;
	}

	@Override
	public long answerNanos() {
		return this.answerNanos;
	}

	public void loseConnection() {
		this.lostAt = this.now;
	}

	public void connectAgain() {
		this.lostAt = null;
		this.commands.forEach((command) -> command.kept = false);
	}

	@Override
	public long reconnects() {
		return this.reconnects;
	}

	@Override
	public CompletableFuture<AcquireReply> acquire(Resource resource, AcquireCommand command, boolean enqueue) {
		this.requestedKeys.add(resource.key());
		return send("acquire " + number(command.token()) + (enqueue ? "" : " at once"));
	}

	@Override
	public CompletableFuture<ReleaseReply> release(Resource resource, AcquireCommand ended,
			@Nullable AcquireCommand next) {
		return send("release " + number(ended.token()) + ((next != null) ? " next " + number(next.token()) : ""));
	}

	@Override
	public int partOf(Resource resource) {
		Runnable action = this.whileFindingPart;
		this.whileFindingPart = () -> {
		};
		action.run();
		return this.parts.getOrDefault(resource.key(), 0);
	}

	@Override
	public CompletableFuture<List<Boolean>> renew(List<Renewal> renewals) {
		StringBuilder line = new StringBuilder("renew");
		for (Renewal renewal : renewals) {
			line.append(' ').append(number(renewal.token())).append(" for ").append(renewal.leaseMillis());
		}
		return send(line.toString());
	}

	@Override
	public CompletableFuture<ReleaseReply> retain(Renewal lease) {
		return send("retain " + number(lease.token()) + " for " + lease.leaseMillis());
	}

	@Override
	public CompletableFuture<Standing> inspect(Resource resource, int maxHolders, int maxWaiters) {
		return send((resource.kind() == Kind.LOCK) ? "inspect" : "inspect permits");
	}

	@Override
	public CompletableFuture<List<Boolean>> force(Resource resource, List<String> tokens) {
		return send("force " + tokens.stream().map(ScriptedStore::number).collect(Collectors.joining(" ")));
	}

	@Override
	public CompletableFuture<Boolean> limit(Resource resource, @Nullable Integer limit) {
		return send("limit " + limit);
	}

	@Override
	public CompletableFuture<@Nullable Void> tryWrite() {
		return send("write");
	}

	@Override
	public FleetStore fleet() {
		throw new UnsupportedOperationException();
	}

	@Override
	public InstanceStore instances() {
		return new InstanceStore() {

			@Override
			public CompletableFuture<@Nullable String> join(String instanceId, InstanceInfo info, Duration age,
					Duration retention) {
				return send("join " + info.application() + " after " + age.toMillis());
			}

			@Override
			public CompletableFuture<@Nullable Void> leave(String instanceId) {
				return send("leave");
			}

			@Override
			public CompletableFuture<List<Member>> members(Duration retention, int most) {
				return CompletableFuture.completedFuture(ScriptedStore.this.members);
			}

			@Override
			public CompletableFuture<Asked> ask(String instanceId, String report) {
				return send("ask");
			}

			@Override
			public CompletableFuture<@Nullable Void> answer(String report, String text) {
				return send("answer " + report);
			}

			@Override
			public CompletableFuture<List<String>> collect(String report, int enough) {
				return send("collect " + enough);
			}

		};
	}

	@Override
	public void close() {
	}

	public static final class Command {

		private final String line;

		private final CompletableFuture<Object> answer = new CompletableFuture<>();

		private boolean seen;

		private boolean kept;

		Command(String line) {
			this.line = line;
		}

		public boolean isCancelled() {
			return this.answer.isCancelled();
		}

		public void granted(long fence, long ttlMillis) {
			Granted granted = new Granted(fence, ttlMillis);
			this.answer.complete(this.line.startsWith("release") ? new ReleaseReply(true, granted, true) : granted);
		}

		public void busy(long ownerTtlMillis, long fence) {
			busy(ownerTtlMillis, fence, false);
		}

		public void busy(long ownerTtlMillis, long fence, boolean foreign) {
			Busy busy = new Busy(ownerTtlMillis, fence, foreign, null, 0, 0, false);
			this.answer.complete(this.line.startsWith("release") ? new ReleaseReply(true, busy, true) : busy);
		}

		public void owned(String owner) {
			this.answer.complete(new Standing(new Resource(Kind.LOCK, "k"), 1000, 1, null, 0, 0, 1,
					List.of(new TokenState(owner, Resource.ALL, 1000)), 0, List.of()));
		}

		public void permits(@Nullable Integer limit, int used) {
			permits(limit, used, 0);
		}

		public void permits(@Nullable Integer limit, int used, int waiting) {
			this.answer.complete(new Standing(new Resource(Kind.SEMAPHORE, "k"), 0, 0, limit, 0, used, 0, List.of(),
					waiting, List.of()));
		}

		public void held(String... tokens) {
			this.answer.complete(new Standing(new Resource(Kind.SEMAPHORE, "k"), 0, 0, null, tokens.length,
					tokens.length, tokens.length,
					Stream.of(tokens).map((token) -> new TokenState(token, 1, 1000)).toList(), 0, List.of()));
		}

		public void released(boolean released) {
			this.answer.complete(new ReleaseReply(released, null, true));
		}

		/** Answer as if to a copy of the command. */
		public void releasedOrRepeated() {
			this.answer.complete(Commands.uncertain(new ReleaseReply(false, null, true)));
		}

		public void rejected(int limit) {
			this.answer.complete(new Rejected(limit));
		}

		public void forced(boolean held) {
			forced(held, 1);
		}

		public void forced(boolean held, int tokens) {
			this.answer.complete(Collections.nCopies(tokens, held));
		}

		public void renewed(boolean... owned) {
			List<Boolean> answers = new ArrayList<>();
			for (boolean each : owned) {
				answers.add(each);
			}
			this.answer.complete(answers);
		}

		public void retained(boolean held) {
			released(held);
		}

		public void done(@Nullable Object answer) {
			this.answer.complete(answer);
		}

		public void unconfirmed() {
			this.answer.completeExceptionally(StoreCommandException.unconfirmed("few replicas"));
		}

		public void notYet() {
			this.answer
				.completeExceptionally(StoreCommandException.notYet("moving", "moving", new IllegalStateException()));
		}

		public void fail(boolean temporary) {
			fail(new StoreCommandException("trouble", temporary, null));
		}

		public void fail(StoreCommandException failure) {
			this.answer.completeExceptionally(failure);
		}

	}

}
