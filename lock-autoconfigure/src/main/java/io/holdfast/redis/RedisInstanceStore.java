package io.holdfast.redis;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.InstanceStore;
import io.holdfast.engine.store.Tokens;
import io.holdfast.redis.driver.ScriptExecutor;
import io.holdfast.redis.driver.ScriptReply;
import io.holdfast.redis.key.RedisKeys;
import io.holdfast.redis.key.RedisStoreOptions;
import io.holdfast.redis.script.RedisFailures;
import io.holdfast.redis.script.Script;
import org.jspecify.annotations.Nullable;

/**
 * Register of instances in Redis: a hash of all instances, and a list of the answers for
 * each report, which expires after some seconds. Thread-safe.
 */
final class RedisInstanceStore implements InstanceStore {

	/**
	 * Version of everything that instances share in Redis: scripts, keys, queue entries,
	 * messages, and the register of instances. UPGRADING.md lists the changes.
	 */
	private static final int PROTOCOL = 2;

	/** Oldest version that is compatible with {@link #PROTOCOL}. */
	private static final int OLDEST_PROTOCOL = 2;

	/**
	 * Entry of an instance: time of the last refresh, time of the start, digest of the
	 * prefixes, description of the instance, version of its protocol, and oldest
	 * compatible version. Version 0 did not write the versions, and later versions may
	 * add fields.
	 */
	private static final Pattern ENTRY = Pattern.compile(
			"(\\d{1,15})\u001f(\\d{1,15})\u001f([0-9a-f]{16})" + "\u001f([^\u001f]*)\u001f([^\u001f]*)\u001f(\\d{1,18})"
					+ "(?:\u001f(\\d{1,9})\u001f(\\d{1,9})(?:\u001f.*)?)?",
			Pattern.DOTALL);

	private static final char SEPARATOR = '\u001f';

	private static final Pattern ID = Pattern.compile("[0-9a-f]{32}");

	private static final long REPORT_LIFE_MILLIS = 10_000;

	private final RedisStoreOptions options;

	private final ScriptExecutor executor;

	private final boolean cluster;

	/**
	 * Digest of the prefixes. Instances with other prefixes share no keys with this
	 * instance.
	 */
	private final String prefixDigest;

	private final int protocol;

	private final int oldestCompatible;

	/** Create the register of instances. */
	RedisInstanceStore(RedisStoreOptions options, ScriptExecutor executor, boolean cluster) {
		this(options, executor, cluster, PROTOCOL, OLDEST_PROTOCOL);
	}

	/** Create the register for a version of the protocol. */
	RedisInstanceStore(RedisStoreOptions options, ScriptExecutor executor, boolean cluster, int protocol,
			int oldestCompatible) {
		this.protocol = protocol;
		this.oldestCompatible = oldestCompatible;
		this.options = options;
		this.executor = executor;
		this.cluster = cluster;
		this.prefixDigest = Tokens.digest(
				options.lockPrefix() + SEPARATOR + options.semaphorePrefix() + SEPARATOR + options.channelPrefix(), 8);
	}

	@Override
	public CompletableFuture<@Nullable String> join(String instanceId, InstanceInfo info, Duration age,
			Duration retention) {
		String entry = SEPARATOR + this.prefixDigest + SEPARATOR + info.application() + SEPARATOR + info.host()
				+ SEPARATOR + info.process() + SEPARATOR + this.protocol + SEPARATOR + this.oldestCompatible;
		Function<ScriptReply, @Nullable String> reader = (reply) -> reply.flag(0) ? null
				: incompatibility(reply.text(1), reply.text(2), retention);
		CompletableFuture<@Nullable String> call = execute(Script.FLEET_JOIN, reader, instanceId, age.toMillis(),
				retention.toMillis(), entry);
		CompletableFuture<@Nullable String> answer = call.exceptionallyCompose((error) -> {
			String reason = RedisFailures.whyNoScripts(error);
			return (reason != null) ? CompletableFuture.completedFuture(reason) : CompletableFuture.failedFuture(error);
		});
		// Otherwise, each abandoned call of an outage would be sent at the end of the
		// outage.
		answer.whenComplete((incompatibility, error) -> call.cancel(true));
		return answer;
	}

	private String incompatibility(String id, String entry, Duration retention) {
		Matcher other = ENTRY.matcher(entry);
		boolean known = other.matches();
		int version = known ? protocol(other.group(7)) : 0;
		int oldestBesideIt = known ? protocol(other.group(8)) : 0;
		String name = "instance " + Tokens.shown(id)
				+ (known ? " (" + other.group(4) + ", process " + other.group(6) + " on " + other.group(5) + ")" : "");
		String problem = "This instance and " + name + " cannot share locks and semaphores: that one speaks version "
				+ version + " of the protocol in Redis";
		String versions = (this.protocol < oldestBesideIt)
				? ", which needs " + oldestBesideIt + " or newer, and this one speaks " + this.protocol
						+ ". Start this application with a newer version of Holdfast"
				: ", and this one speaks " + this.protocol + ", which needs " + this.oldestCompatible
						+ " or newer. Stop that instance, or restart it with a newer version of Holdfast";
		return problem + versions + ". To change the version of all, stop all instances, wait for the longest lease"
				+ " time, and start them with the new version; see UPGRADING.md. One that was killed is forgotten after "
				+ retention.toSeconds() + " s";
	}

	private static int protocol(@Nullable String told) {
		return (told != null) ? Integer.parseInt(told) : 0;
	}

	@Override
	public CompletableFuture<@Nullable Void> leave(String instanceId) {
		return execute(Script.FLEET_LEAVE, (reply) -> null, instanceId);
	}

	@Override
	public CompletableFuture<List<Member>> members(Duration retention, int most) {
		return execute(Script.FLEET_MEMBERS, (reply) -> {
			long now = reply.number(0);
			List<Member> members = new ArrayList<>();
			for (int i = 1; i < reply.size(); i += 2) {
				Member member = member(reply.text(i), reply.text(i + 1));
				if (member != null && now - member.seenMillis() < retention.toMillis()) {
					members.add(member);
				}
			}
			return members.stream()
				.sorted(Comparator.comparingLong(Member::seenMillis).reversed())
				.limit(most)
				.toList();
		});
	}

	private @Nullable Member member(String id, String entry) {
		Matcher matcher = ENTRY.matcher(entry);
		if (!ID.matcher(id).matches() || !matcher.matches() || !matcher.group(3).equals(this.prefixDigest)) {
			return null;
		}
		InstanceInfo info = new InstanceInfo(matcher.group(4), matcher.group(5), Long.parseLong(matcher.group(6)));
		return new Member(Tokens.shown(id), info, Long.parseLong(matcher.group(2)), Long.parseLong(matcher.group(1)));
	}

	@Override
	public CompletableFuture<Asked> ask(String instanceId, String report) {
		return execute(Script.FLEET_ASK, (reply) -> {
			List<String> present = new ArrayList<>();
			List<String> absent = new ArrayList<>();
			for (int i = 0; i < reply.size(); i += 2) {
				// In a cluster, PUBLISH counts only the receivers at one node.
				boolean heard = this.cluster || reply.number(i + 1) > 0;
				(heard ? present : absent).add(Tokens.shown(reply.text(i)));
			}
			return new Asked(present, absent);
		}, instanceId, SEPARATOR + this.prefixDigest + SEPARATOR, this.options.channelPrefix(), report);
	}

	@Override
	public CompletableFuture<@Nullable Void> answer(String report, String text) {
		return execute(Script.FLEET_ANSWER, reportKey(report), (reply) -> null, text, REPORT_LIFE_MILLIS);
	}

	@Override
	public CompletableFuture<List<String>> collect(String report, int enough) {
		return execute(Script.FLEET_COLLECT, reportKey(report), (reply) -> reply.texts(0), enough);
	}

	private String reportKey(String report) {
		return this.options.fleetKey() + ":report:" + report;
	}

	private <T extends @Nullable Object> CompletableFuture<T> execute(Script script, Function<ScriptReply, T> reply,
			Object... args) {
		return execute(script, this.options.fleetKey(), reply, args);
	}

	private <T extends @Nullable Object> CompletableFuture<T> execute(Script script, String key,
			Function<ScriptReply, T> reply, Object... args) {
		return this.executor.execute(script, new byte[][] { RedisKeys.bytes(key) }, args, key, reply);
	}

}
