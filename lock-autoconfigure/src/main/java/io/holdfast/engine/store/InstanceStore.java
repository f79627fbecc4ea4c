package io.holdfast.engine.store;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;

/**
 * The instances that share a store, and their reports to each other. Nothing of it
 * matters to leases but whether an instance may join, and no answer contains an
 * instance's id.
 *
 * <p>
 * No method blocks; futures fail as those of {@link LeaseStore} do. Thread-safe.
 */
public interface InstanceStore {

	/**
	 * Say that an instance is there, for the first time or again, and forget instances
	 * that have not said so for long. An instance that does not speak the same protocol
	 * as others that are there is kept out, and does not count as there.
	 * @param instanceId the instance
	 * @param info its description
	 * @param age how long it is there
	 * @param retention the time after which a silent instance is forgotten
	 * @return why the instance must not use the store, with a cure, or {@code null} if it
	 * is there now
	 */
	CompletableFuture<@Nullable String> join(String instanceId, InstanceInfo info, Duration age, Duration retention);

	/**
	 * Say that an instance is there no longer.
	 * @param instanceId the instance
	 * @return completed by the store's answer
	 */
	CompletableFuture<@Nullable Void> leave(String instanceId);

	/**
	 * Return the instances that share the store.
	 * @param retention the time after which a silent instance is left out
	 * @param most how many to tell at most
	 * @return the instances, the latest sign of life first
	 */
	CompletableFuture<List<Member>> members(Duration retention, int most);

	/**
	 * Ask all instances but one for a report.
	 * @param instanceId the one that asks
	 * @param report a name for the report, 32 hexadecimal digits that no other report has
	 * @return the instances that were asked
	 */
	CompletableFuture<Asked> ask(String instanceId, String report);

	/**
	 * Answer with a report; it is there for some seconds.
	 * @param report its name
	 * @param text the report
	 * @return completed by the store's answer
	 */
	CompletableFuture<@Nullable Void> answer(String report, String text);

	/**
	 * Take the answers if they are enough.
	 * @param report the report's name
	 * @param enough how many there must be; 0 for as many as there are
	 * @return the answers, or none yet
	 */
	CompletableFuture<List<String>> collect(String report, int enough);

	/**
	 * An instance that said that it is there.
	 *
	 * @param instance its public id
	 * @param info its description
	 * @param startedMillis since when it is there, by the store's clock in milliseconds
	 * since 1970
	 * @param seenMillis when it said last that it is there, in the same way
	 */
	record Member(String instance, InstanceInfo info, long startedMillis, long seenMillis) {
	}

	/**
	 * The public ids of the instances that were asked for a report.
	 *
	 * @param present the instances that may have received the question
	 * @param absent the instances that have certainly not received it
	 */
	record Asked(List<String> present, List<String> absent) {
	}

}
