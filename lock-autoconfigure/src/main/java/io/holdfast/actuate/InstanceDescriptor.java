package io.holdfast.actuate;

import java.time.Instant;

import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.InstanceStore.Member;
import org.jspecify.annotations.Nullable;

/**
 * An instance, as endpoints show it.
 *
 * @param id eight hexadecimal digits by which the rest of the answer names it
 * @param application the name of its application, if it is known
 * @param host the host that it runs on, if it is known
 * @param process its process there, if it is known
 * @param started since when it is there
 * @param seen when it was last known to be there; absent for the one that answers
 */
public record InstanceDescriptor(String id, @Nullable String application, @Nullable String host, @Nullable Long process,
		@Nullable Instant started, @Nullable Instant seen) {

	static InstanceDescriptor of(Member member) {
		InstanceInfo info = member.info();
		return new InstanceDescriptor(member.instance(), info.application(), info.host(), info.process(),
				Instant.ofEpochMilli(member.startedMillis()), Instant.ofEpochMilli(member.seenMillis()));
	}

}
