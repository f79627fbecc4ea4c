package io.holdfast.redis.script;

import java.util.List;

import io.holdfast.engine.store.LeaseStore.Renewal;

/**
 * Puts together what scripts take for their ARGV, as {@link ScriptArguments} writes it.
 */
public final class ScriptArgv {

	/** An empty text. */
	public static final String NOTHING = "";

	private ScriptArgv() {
	}

	/**
	 * Return what a script takes that renews leases. All mostly are to last equally long,
	 * which is said once then: there are many in a command.
	 * @param renewals the leases
	 * @param permits whether to say how many permits each has
	 * @return the arguments
	 */
	public static Object[] ofRenewals(List<Renewal> renewals, boolean permits) {
		int count = renewals.size();
		boolean alike = count > 0
				&& renewals.stream().allMatch((renewal) -> renewal.leaseMillis() == renewals.get(0).leaseMillis());
		List<Renewal> leases = alike ? renewals.subList(0, 1) : renewals;
		Object[] args = new Object[(permits ? 2 : 1) * count + leases.size()];
		int i = 0;
		for (Renewal renewal : renewals) {
			args[i++] = renewal.token();
		}
		if (permits) {
			for (Renewal renewal : renewals) {
				args[i++] = renewal.permits();
			}
		}
		for (Renewal renewal : leases) {
			args[i++] = renewal.leaseMillis();
		}
		return args;
	}

}
