package io.holdfast.actuate;

import java.time.Instant;

import io.holdfast.engine.store.InstanceInfo;
import io.holdfast.engine.store.InstanceStore.Member;
import org.jspecify.annotations.Nullable;

/**
 * An instance in the answer of an endpoint.
 *
 * @param id the public id, 8 hexadecimal digits, as used in the rest of the answer
 * @param application the name of the application, if known
 * @param host the name of the host, if known
 * @param process the id of the process on the host, if known
 * @param started the start time
 * @param seen the last sign of life; absent for the answering instance
 */
public record InstanceDescriptor(String id, @Nullable String application, @Nullable String host, @Nullable Long process,
		@Nullable Instant started, @Nullable Instant seen) {

	static InstanceDescriptor of(Member member) {
		InstanceInfo info = member.info();
		return new InstanceDescriptor(member.instance(), info.application(), info.host(), info.process(),
				Instant.ofEpochMilli(member.startedMillis()), Instant.ofEpochMilli(member.seenMillis()));
	}

}
