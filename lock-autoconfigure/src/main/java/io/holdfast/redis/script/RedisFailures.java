package io.holdfast.redis.script;

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
 * Tells the meaning of a driver's error. Redis's own words decide, wherever they are in
 * the chain of causes, since each driver wraps them in another way. Quoted arguments of
 * commands are left out: with tokens, and the ids of instances that they begin with,
 * others could release leases.
 */
public final class RedisFailures {

	/** Errors that pass when a connection, a fail-over or a long script is over. */
	private static final Pattern TEMPORARY = Pattern
		.compile("\\b(READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|BUSY|NOREPLICAS|MISCONF|UNBLOCKED)\\b"
				+ "|\\bstale replica\\b|\\bwith replica instances\\b|\\bmax number of clients\\b");

	/** Also said by a former master, for as long as it is connected. */
	private static final Pattern NO_MASTER = Pattern
		.compile("\\b(READONLY|MASTERDOWN|NOREPLICAS|LOADING)\\b|\\bstale replica\\b");

	/** Until all keys of a script have moved with their slot, or the node knows that. */
	private static final Pattern MOVING = Pattern.compile("\\bTRYAGAIN\\b|\\bnon local key in a cluster node\\b");

	/** All commands in the scripts, and the commands that run scripts. */
	private static final String COMMANDS = "eval evalsha get mget set del pttl pexpire pexpireat zadd zrem zcard zcount"
			+ " zscore zrange zrangebyscore zremrangebyscore hget hmget hset hdel time publish pubsub subscribe unsubscribe";

	/** Needed by the views of the fleet only. */
	private static final String FLEET_COMMANDS = "scan hgetall rpush llen lrange";

	/** Needed only where grants wait for replicas. */
	private static final String REPLICA_COMMANDS = "wait";

	private static final Pattern NO_RIGHT = Pattern.compile("\\bNOPERM\\b|ACL failure|can't (run|access|publish) ");

	/** Also said by providers of Redis that leave commands out. */
	private static final Pattern NO_COMMAND = Pattern
		.compile("(?i)\\bunknown (redis )?(sub)?command\\b|\\bcommand is not allowed from scripts?\\b"
				+ "|\\bnot find scripting engine\\b");

	/** Said by servers without scripts, as Valkey may be from 9.1 on. */
	private static final Pattern NO_SCRIPTS = Pattern.compile(
			"(?i)\\bunknown command\\W{1,3}eval|\\bcommand eval(sha)? not support|\\bnot find scripting engine\\b");

	/** Said by servers that read scripts before they run them. */
	private static final Pattern OTHER_SCRIPTS = Pattern
		.compile("(?i)\\bbad lua script\\b|\\beval/evalsha (number of|command) keys\\b");

	/** A command, or the right to it, is missing for all keys. */
	private static final Pattern OF_COMMANDS = Pattern
		.compile("permissions to run |can't run |" + NO_COMMAND.pattern());

	private static final Pattern NO_LOGIN = Pattern.compile("\\b(NOAUTH|WRONGPASS)\\b|\\binvalid password\\b");

	private static final Pattern WRONG_TYPE = Pattern.compile("\\bWRONGTYPE\\b");

	private static final Pattern REFUSED = Pattern.compile("^(ERR|DENIED|CROSSSLOT|NOSCRIPT)\\b|user_script");

	/** Redis goes on with the arguments of the command, as far as they fit. */
	private static final Pattern UNKNOWN_COMMAND = Pattern
		.compile("(?is)(\\bunknown (?:sub)?command\\W{0,3}[\\w|.-]+['`\"]?).*");

	/** Ids of instances, also such as were cut off. */
	private static final Pattern ID = Pattern.compile("[0-9a-f]{16,}");

	private RedisFailures() {
	}

	/**
	 * Return why a server may be the master no more.
	 * @return its error, or {@code null} if it is another one
	 */
	public static @Nullable String whyNoMaster(Throwable error) {
		return find(error, NO_MASTER);
	}

	/** Leave quoted arguments of a command out of a text. */
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

	/** Return whether Redis does not know a script by its digest. */
	public static boolean isUnknownScript(Throwable error) {
		return find(error, Pattern.compile("\\bNOSCRIPT\\b")) != null;
	}

	/** Return whether something else is stored where a command looked. */
	public static boolean isWrongType(Throwable error) {
		return find(error, WRONG_TYPE) != null;
	}

	/**
	 * Return whether a transaction was not run because Redis refused to queue one of its
	 * commands.
	 */
	public static boolean isAborted(Throwable error) {
		return find(error, Pattern.compile("\\bEXECABORT\\b")) != null;
	}

	/** Return whether this user may not run a command, or Redis does not have it. */
	public static boolean isForbidden(Throwable error) {
		return find(error, NO_RIGHT) != null || find(error, NO_COMMAND) != null;
	}

	/**
	 * Return why nothing can be had of this Redis, as it does not run the scripts.
	 * @return the reason, with a cure, or {@code null} if it is another error
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

	/** Return the failure of a command that came after the end. */
	public static StoreCommandException closed() {
		return new StoreCommandException("The store of the leases was closed", false, null);
	}

	/**
	 * Return the failure to report.
	 * @param what the key in Redis, or the attempt
	 */
	public static StoreCommandException of(Throwable error, String what) {
		if (error instanceof StoreCommandException failure) {
			return failure;
		}
		if (error instanceof CompletionException && error.getCause() != null) {
			return of(error.getCause(), what);
		}
		// The value is no number that a script has written.
		return (error instanceof NumberFormatException) ? wrongType(error, what) : failure(withoutArguments(error),
				what, chain(error).anyMatch(RedisCommandExecutionException.class::isInstance));
	}

	private static StoreCommandException wrongType(Throwable error, String what) {
		return new StoreCommandException(
				"Redis holds something else at '" + what + "' or at one of the keys beside it: use another key, or set"
						+ " another holdfast.lock.key-prefix or holdfast.semaphore.key-prefix",
				false, error);
	}

	private static StoreCommandException failure(Throwable error, String what, boolean answer) {
		if (isWrongType(error)) {
			return wrongType(error, what);
		}
		String text = find(error, NO_RIGHT);
		if (text != null) {
			return forbidden("Redis does not give the application's user a right that it needs", what, text, error);
		}
		text = find(error, NO_COMMAND);
		if (text != null) {
			return forbidden("Redis does not have a command that is needed", what, text, error);
		}
		text = find(error, NO_LOGIN);
		if (text != null) {
			return refused("Redis refuses the application's user or password: " + text, false, error);
		}
		text = find(error, Pattern.compile("\\bOOM\\b"));
		if (text != null) {
			// A waiter in the queue need not leave it.
			return refused("Redis is out of memory (maxmemory) and grants nothing new: " + text, true, error);
		}
		text = find(error, MOVING);
		if (text != null) {
			return StoreCommandException.notYet("Redis moves the slot of '" + what + "' to another node: " + text,
					"Redis moves a slot to another node: " + text, error);
		}
		text = find(error, TEMPORARY);
		if (text != null) {
			return refused("Redis cannot serve this now: " + text, true, error);
		}
		text = find(error, REFUSED);
		if (text != null) {
			return StoreCommandException.refused("Redis refused the command for '" + what + "': " + text, false,
					"Redis refused a command: " + text, error);
		}
		if (answer) {
			// Of a proxy, say.
			return refused("Redis cannot serve this now: " + deepest(error), true, error);
		}
		// No key has to do with that; it may be one that users do not know.
		String address = chain(error)
			.filter((each) -> each instanceof RedisConnectionException && each.getCause() != null)
			.map((each) -> each.getMessage() + ": ")
			.findFirst()
			.orElse("");
		return new StoreCommandException("Redis cannot be reached: " + address + deepest(error), true, error);
	}

	private static StoreCommandException refused(String message, boolean temporary, Throwable error) {
		return StoreCommandException.refused(message, temporary, message, error);
	}

	/** Names all commands, as Redis does not always name the one that it refused. */
	private static StoreCommandException forbidden(String problem, String what, String text, Throwable error) {
		String message = problem + " for '" + what + "': " + text + " (the commands used are: " + COMMANDS
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

	/** Return the cause of an error, in the words of Redis or of the network. */
	public static String deepest(Throwable error) {
		Throwable cause = chain(error).reduce(error, (outer, inner) -> inner);
		if (cause instanceof CancellationException) {
			return "its connection was closed";
		}
		return (cause.getMessage() != null) ? withoutArguments(cause.getMessage()) : cause.getClass().getSimpleName();
	}

}
