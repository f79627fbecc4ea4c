package io.holdfast.redis.script;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;

import io.holdfast.engine.store.LeaseStore.Renewal;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.CommandArgs;

/**
 * The arguments of EVALSHA and EVAL, for Lettuce. ARGV are texts, numbers, flags, times
 * for their milliseconds, or bytes.
 */
public final class ScriptArguments extends CommandArgs<byte[], byte[]> {

	/** An empty text. */
	public static final String NOTHING = "";

	private final byte[][] keys;

	/**
	 * Create the arguments.
	 * @param script the script's text, or its digest
	 * @param keys its KEYS
	 * @param args its ARGV
	 */
	public ScriptArguments(byte[] script, byte[][] keys, Object[] args) {
		super(ByteArrayCodec.INSTANCE);
		this.keys = keys;
		add(script).add(keys.length).addKeys(keys);
		for (Object arg : args) {
			if (arg instanceof Boolean yes) {
				add(yes ? 1 : 0);
			}
			else {
				add((arg instanceof Duration time) ? time.toMillis() : arg);
			}
		}
	}

	/**
	 * Return the arguments of a script that renews leases. All mostly are to last equally
	 * long, which is said once then: there are many in a command.
	 * @param permits whether to say how many permits each has
	 */
	public static Object[] ofRenewals(List<Renewal> renewals, boolean permits) {
		int count = renewals.size();
		boolean alike = count > 0
				&& renewals.stream().allMatch((renewal) -> renewal.leaseMillis() == renewals.get(0).leaseMillis());
		List<Renewal> leases = alike ? renewals.subList(0, 1) : renewals;
		Object[] args = new Object[count + leases.size()];
		int i = 0;
		for (Renewal renewal : renewals) {
			args[i++] = permits ? renewal.token() + ":" + renewal.permits()
					: (renewal.permits() == 1) ? renewal.token() + ":r" : renewal.token();
		}
		for (Renewal renewal : leases) {
			args[i++] = renewal.leaseMillis();
		}
		return args;
	}

	/** Return the text for logs and traces: without ARGV, where the tokens are. */
	@Override
	public String toCommandString() {
		return String.join(" ", Arrays.stream(this.keys).map(ScriptReplies::text).toList());
	}

	@Override
	public String toString() {
		return toCommandString();
	}

}
