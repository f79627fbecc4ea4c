package io.holdfast.redis.script;

import java.security.cert.CertificateException;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import io.holdfast.engine.store.StoreCommandException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
import org.jspecify.annotations.Nullable;

/**
 * Classification of a driver's errors. The text of Redis decides, anywhere in the chain
 * of causes, because each driver wraps errors in another way. Quoted arguments of
 * commands are removed: with tokens, or the ids of instances in tokens, other clients
 * could release leases.
 */
public final class RedisFailures {

	/**
	 * Errors that pass with the end of a fail-over, a lost connection or a long script.
	 */
	private static final Pattern TEMPORARY = Pattern
		.compile("\\b(READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|BUSY|NOREPLICAS|MISCONF|UNBLOCKED)\\b"
				+ "|\\bstale replica\\b|\\bwith replica instances\\b|\\bmax number of clients\\b|\\bcluster is down\\b");

	/**
	 * Errors of a server that may no longer be the master. A former master answers with
	 * such errors for the whole connection.
	 */
	private static final Pattern NO_MASTER = Pattern
		.compile("\\b(READONLY|MASTERDOWN|NOREPLICAS|LOADING)\\b|\\bstale replica\\b");

	/**
	 * Errors until all keys of a script have moved with their slot, and the node knows
	 * that.
	 */
	private static final Pattern MOVING = Pattern.compile("\\bTRYAGAIN\\b|\\bnon local key in a cluster node\\b");

	/** All commands in the scripts, and the commands that run scripts. */
	private static final String COMMANDS = "eval evalsha get mget set del pttl pexpire pexpireat zadd zrem zcard zcount"
			+ " zscore zrange zrangebyscore zremrangebyscore hget hmget hset hdel time publish pubsub subscribe unsubscribe";

	/** Commands that only the views of the fleet need. */
	private static final String FLEET_COMMANDS = "scan hgetall rpush llen lrange";

	/** Commands that only the confirmation by replicas needs. */
	private static final String REPLICA_COMMANDS = "wait";

	private static final Pattern NO_RIGHT = Pattern.compile("\\bNOPERM\\b|ACL failure|can't (run|access|publish) ");

	/** Errors of missing commands, also of Redis providers that leave commands out. */
	private static final Pattern NO_COMMAND = Pattern
		.compile("(?i)\\bunknown (redis )?(sub)?command\\b|\\bcommand is not allowed from scripts?\\b"
				+ "|\\bnot find scripting engine\\b");

	/** Errors of servers without scripts, such as Valkey from 9.1 without its module. */
	private static final Pattern NO_SCRIPTS = Pattern.compile(
			"(?i)\\bunknown command\\W{1,3}eval|\\bcommand eval(sha)? not support|\\bnot find scripting engine\\b");

	/** Errors of servers that check the text of scripts. */
	private static final Pattern OTHER_SCRIPTS = Pattern
		.compile("(?i)\\bbad lua script\\b|\\beval/evalsha (number of|command) keys\\b");

	/** Errors about a missing command, or a missing right to a command, for all keys. */
	private static final Pattern OF_COMMANDS = Pattern
		.compile("permissions to run |can't run |" + NO_COMMAND.pattern());

	/** Error of the connection to a sentinel, in the words of Lettuce. */
	private static final Pattern SENTINEL = Pattern.compile("\\bRedis Sentinel\\b");

	private static final Pattern NO_LOGIN = Pattern.compile("\\b(NOAUTH|WRONGPASS)\\b|\\binvalid password\\b");

	private static final Pattern WRONG_TYPE = Pattern.compile("\\bWRONGTYPE\\b");

	private static final Pattern REFUSED = Pattern.compile("^(ERR|DENIED|CROSSSLOT|NOSCRIPT)\\b|user_script");

	/** Error of an unknown command, which goes on with the arguments of the command. */
	private static final Pattern UNKNOWN_COMMAND = Pattern
		.compile("(?is)(\\bunknown (?:sub)?command\\W{0,3}[\\w|.-]+['`\"]?).*");

	/** Id of an instance, possibly truncated. */
	private static final Pattern ID = Pattern.compile("[0-9a-f]{16,}");

	private RedisFailures() {
	}

	/**
	 * Return the error of a server that may no longer be the master.
	 * @return the text of the error, or {@code null} for another error
	 */
	public static @Nullable String whyNoMaster(Throwable error) {
		return find(error, NO_MASTER);
	}

	/** Remove quoted arguments of a command from a text. */
	public static String withoutArguments(String text) {
		return ID.matcher(UNKNOWN_COMMAND.matcher(text).replaceFirst("$1")).replaceAll("<id>");
	}

	private static Throwable withoutArguments(Throwable error) {
		boolean quoted = messages(error).anyMatch((message) -> !withoutArguments(message).equals(message));
		return quoted ? copyWithoutArguments(error) : error;
	}

	private static Throwable copyWithoutArguments(Throwable error) {
		Throwable cause = error.getCause();
		IllegalStateException copy = new IllegalStateException(withoutArguments(error.toString()),
				(cause != null) ? copyWithoutArguments(cause) : null);
		copy.setStackTrace(error.getStackTrace());
		return copy;
	}

	/** Return whether the digest of a script is unknown to Redis. */
	public static boolean isUnknownScript(Throwable error) {
		return find(error, Pattern.compile("\\bNOSCRIPT\\b")) != null;
	}

	/** Return whether a key has a value of another type. */
	public static boolean isWrongType(Throwable error) {
		return find(error, WRONG_TYPE) != null;
	}

	/**
	 * Return whether a transaction was not run because Redis refused to queue a command.
	 */
	public static boolean isAborted(Throwable error) {
		return find(error, Pattern.compile("\\bEXECABORT\\b")) != null;
	}

	/**
	 * Return whether the user may not run a command, or Redis does not have the command.
	 */
	public static boolean isForbidden(Throwable error) {
		return find(error, NO_RIGHT) != null || find(error, NO_COMMAND) != null;
	}

	/**
	 * Return the reason why a Redis never runs the scripts.
	 * @return the reason and the remedy, or {@code null} for another error
	 */
	public static @Nullable String whyNoScripts(Throwable error) {
		String text = find(error, NO_SCRIPTS);
		if (text != null) {
			return "This Redis runs no Lua scripts, which Holdfast depends on: " + text
					+ ". Use a Redis or a service that has the commands EVAL and EVALSHA (with Valkey: its module lua)";
		}
		text = find(error, OTHER_SCRIPTS);
		return (text == null) ? null : "This Redis checks how Lua scripts are written, and refuses those of Holdfast: "
				+ text + ". Have it run them as they are (with Tair: script_check_enable 0), or use another Redis";
	}

	/** Return the failure of a command after the end of the store. */
	public static StoreCommandException closed() {
		return new StoreCommandException("The store of the leases was closed", false, null);
	}

	/**
	 * Return the failure to report.
	 * @param subject the key in Redis, or the attempt, for messages
	 */
	public static StoreCommandException of(Throwable error, String subject) {
		if (error instanceof StoreCommandException failure) {
			return failure;
		}
		if (error instanceof CompletionException && error.getCause() != null) {
			return of(error.getCause(), subject);
		}
		// No script writes a value that is not a number.
		return (error instanceof NumberFormatException) ? wrongType(error, subject) : failure(withoutArguments(error),
				subject, chain(error).anyMatch(RedisCommandExecutionException.class::isInstance));
	}

	private static StoreCommandException wrongType(Throwable error, String subject) {
		return new StoreCommandException(
				"Redis holds something else at '" + subject
						+ "' or at one of the keys beside it: use another key, or set"
						+ " another holdfast.lock.key-prefix, holdfast.semaphore.key-prefix or holdfast.fleet.key",
				false, error);
	}

	private static StoreCommandException failure(Throwable error, String subject, boolean answer) {
		if (isWrongType(error)) {
			return wrongType(error, subject);
		}
		String text = find(error, NO_RIGHT);
		if (text != null) {
			return forbidden("Redis does not give the application's user a right that it needs", subject, text, error);
		}
		text = find(error, NO_COMMAND);
		if (text != null) {
			return forbidden("Redis does not have a command that is needed", subject, text, error);
		}
		text = find(error, NO_LOGIN);
		if (text != null) {
			String prefix = "spring.data.redis." + ((find(error, SENTINEL) != null) ? "sentinel." : "");
			return refused("Redis refuses the application's user or password (" + prefix + "username, " + prefix
					+ "password), and grants nothing without a login: " + text, false, error);
		}
		text = find(error, Pattern.compile("\\bOOM\\b"));
		if (text != null) {
			// Temporary, so that a waiter stays in the queue.
			return refused("Redis is out of memory (maxmemory) and grants nothing new: " + text, true, error);
		}
		text = find(error, MOVING);
		if (text != null) {
			return StoreCommandException.notYet("Redis moves the slot of '" + subject + "' to another node: " + text,
					"Redis moves a slot to another node: " + text, error);
		}
		text = find(error, TEMPORARY);
		if (text != null) {
			return refused("Redis cannot serve this now: " + text, true, error);
		}
		String address = chain(error)
			.filter((each) -> each instanceof RedisConnectionException && each.getCause() != null)
			.map((each) -> (each.getMessage() != null) ? each.getMessage() + ": " : "")
			.findFirst()
			.orElse(null);
		text = find(error, REFUSED);
		if (text != null && address == null) {
			return StoreCommandException.refused("Redis refused the command for '" + subject + "': " + text, false,
					"Redis refused a command: " + text, error);
		}
		if (text == null && answer) {
			// An unknown error, such as an error of a proxy.
			return refused("Redis cannot serve this now: " + deepest(error), true, error);
		}
		// The failure concerns no key, and users may not know the key.
		String message = "Redis cannot be reached (see spring.data.redis.*): " + Objects.requireNonNullElse(address, "")
				+ deepest(error);
		return (text != null) ? refused(message, false, error) : new StoreCommandException(message, true, error);
	}

	private static StoreCommandException refused(String message, boolean temporary, Throwable error) {
		return StoreCommandException.refused(message, temporary, message, error);
	}

	/**
	 * Return the failure of a forbidden command. The message names all commands, because
	 * Redis does not always name the refused command.
	 */
	private static StoreCommandException forbidden(String problem, String subject, String text, Throwable error) {
		String message = problem + " for '" + subject + "': " + text + " (the commands used are: " + COMMANDS
				+ "; to watch the fleet also: " + FLEET_COMMANDS + "; with holdfast.redis.min-replicas also: "
				+ REPLICA_COMMANDS + ")";
		String refusal = problem + ": " + text;
		return OF_COMMANDS.matcher(text).find() ? StoreCommandException.forbidden(message, refusal, error)
				: StoreCommandException.refused(message, false, refusal, error);
	}

	private static @Nullable String find(Throwable error, Pattern pattern) {
		return messages(error).filter((message) -> pattern.matcher(message).find())
			.findFirst()
			.map((message) -> withoutArguments(message).strip())
			.orElse(null);
	}

	/** Return an error and its causes. */
	private static Stream<Throwable> chain(Throwable error) {
		return Stream.iterate(error, Objects::nonNull, Throwable::getCause);
	}

	private static Stream<String> messages(Throwable error) {
		return chain(error).map(Throwable::getMessage).filter(Objects::nonNull);
	}

	/** Return the text of the root cause, which comes from Redis or the network. */
	public static String deepest(Throwable error) {
		Throwable cause = chain(error).reduce(error, (outer, inner) -> inner);
		if (cause instanceof CancellationException) {
			return "its connection was closed";
		}
		if (cause instanceof Error || cause instanceof CertificateException) {
			// The message of a missing class is its name alone, of an expired
			// certificate a date.
			return cause.toString();
		}
		return (cause.getMessage() != null) ? withoutArguments(cause.getMessage()) : cause.getClass().getSimpleName();
	}

}
