package io.holdfast.engine.store;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;

/**
 * Register of the instances that share a store, and exchange of their reports. Has no
 * effect on leases, except for the refusal of instances by {@link #join}. No answer
 * contains the secret id of an instance.
 *
 * <p>
 * No method blocks; futures fail as those of {@link LeaseStore} do. Thread-safe.
 */
public interface InstanceStore {

	/**
	 * Register an instance or refresh its registration, and remove expired registrations.
	 * An instance whose protocol differs from that of registered instances is refused and
	 * not registered.
	 * @param instanceId the id of the instance
	 * @param info the description of the instance
	 * @param age the age of the instance
	 * @param retention the time without a refresh after which a registration expires
	 * @return a future of the reason for a refusal, with a remedy; {@code null} if the
	 * instance is registered
	 */
	CompletableFuture<@Nullable String> join(String instanceId, InstanceInfo info, Duration age, Duration retention);

	/**
	 * Remove an instance from the register.
	 * @param instanceId the id of the instance
	 * @return a future that is completed by the store's answer
	 */
	CompletableFuture<@Nullable Void> leave(String instanceId);

	/**
	 * Return the registered instances.
	 * @param retention the time without a refresh after which a registration counts as
	 * expired
	 * @param most the maximum number of instances to return
	 * @return a future of the instances, the most recently refreshed first
	 */
	CompletableFuture<List<Member>> members(Duration retention, int most);

	/**
	 * Request a report from all other instances.
	 * @param instanceId the id of the requesting instance
	 * @param report the unique name of the report, 32 hexadecimal digits
	 * @return a future of the queried instances
	 */
	CompletableFuture<Asked> ask(String instanceId, String report);

	/**
	 * Store an answer to a request for a report, for some seconds.
	 * @param report the name of the report
	 * @param text the report
	 * @return a future that is completed by the store's answer
	 */
	CompletableFuture<@Nullable Void> answer(String report, String text);

	/**
	 * Return the answers to a request for a report if there are enough.
	 * @param report the name of the report
	 * @param enough the required number of answers; 0 for any number
	 * @return a future of the answers, empty if there are not enough yet
	 */
	CompletableFuture<List<String>> collect(String report, int enough);

	/**
	 * A registered instance.
	 *
	 * @param instance the public id of the instance
	 * @param info the description of the instance
	 * @param startedMillis the time of its start, by the store's clock in milliseconds
	 * since 1970
	 * @param seenMillis the time of its last refresh, by the store's clock in
	 * milliseconds since 1970
	 */
	record Member(String instance, InstanceInfo info, long startedMillis, long seenMillis) {
	}

	/**
	 * Public ids of the instances queried for a report.
	 *
	 * @param present the instances that may have received the request
	 * @param absent the instances that have certainly not received the request
	 */
	record Asked(List<String> present, List<String> absent) {
	}

}
