package io.holdfast.memory;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import io.holdfast.engine.store.InstanceStore.Member;

/**
 * The instances that share {@link MemoryLeases}, and their reports. Thread-safe.
 */
final class MemoryInstances {

	/** Answers to so many questions are kept, in case that they are not taken. */
	private static final int REPORTS = 100;

	private final Map<String, Member> members = new HashMap<>();

	private final Map<String, List<String>> reports = new LinkedHashMap<>() {

		private static final long serialVersionUID = 1L;

		@Override
		protected boolean removeEldestEntry(Map.Entry<String, List<String>> eldest) {
			return size() > REPORTS;
		}

	};

	synchronized void join(String instanceId, Member member, long retentionMillis) {
		this.members.values().removeIf((other) -> member.seenMillis() - other.seenMillis() > retentionMillis);
		// It does not change because this command was under way for longer than the
		// first.
		this.members.merge(instanceId, member, (known, again) -> new Member(again.instance(), again.info(),
				known.startedMillis(), again.seenMillis()));
	}

	synchronized void leave(String instanceId) {
		this.members.remove(instanceId);
	}

	synchronized void clear() {
		this.members.clear();
		this.reports.clear();
	}

	synchronized List<String> ids() {
		return List.copyOf(this.members.keySet());
	}

	synchronized List<Member> members(long seenAfterMillis, int most) {
		return this.members.values()
			.stream()
			.filter((member) -> member.seenMillis() > seenAfterMillis)
			.sorted(Comparator.comparingLong(Member::seenMillis).reversed())
			.limit(most)
			.toList();
	}

	synchronized void answer(String report, String text) {
		this.reports.computeIfAbsent(report, (k) -> new ArrayList<>()).add(text);
	}

	synchronized List<String> collect(String report, int enough) {
		List<String> answers = this.reports.getOrDefault(report, List.of());
		if (answers.size() < enough) {
			return List.of();
		}
		this.reports.remove(report);
		return answers;
	}

}
