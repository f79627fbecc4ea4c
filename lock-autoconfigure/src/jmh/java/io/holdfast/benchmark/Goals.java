package io.holdfast.benchmark;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The goals of Holdfast's speed: a preset that runs the rows they need, and prints what
 * was reached. All ratios are medians of the rounds' own ratios.
 */
final class Goals {

	/** The preset's name, in place of names of workloads. */
	static final String NAME = "goals";

	private static final String UNCONTENDED = "uncontended-";

	private static final String NETWORK = "network-";

	private static final List<ContenderType> PEERS = List.of(ContenderType.R_LOCK, ContenderType.REGISTRY_SPIN,
			ContenderType.SHEDLOCK, ContenderType.TEMPLATE);

	/** Callers that look at no answer to a release. */
	private static final List<ContenderType> OWN = List.of(ContenderType.HOLDFAST_ANNOTATED,
			ContenderType.HOLDFAST_WITH_LOCK);

	/** In the uncontended rows besides. */
	private static final List<ContenderType> CONTEXT = List.of(ContenderType.HOLDFAST, ContenderType.LETTUCE,
			ContenderType.LETTUCE_UNAWAITED);

	private static final List<Goal> ALL = all();

	private Goals() {
	}

	private static List<Goal> all() {
		List<Goal> goals = new ArrayList<>();
		Map<Integer, Double> aims = new TreeMap<>(Map.of(1, 1.3, 8, 1.0, 64, 1.1));
		for (ContenderType own : OWN) {
			aims.forEach((threads, aim) -> {
				goals.add(new Goal(UNCONTENDED + threads, own, List.of(ContenderType.LETTUCE), true, aim));
				goals.add(new Goal(UNCONTENDED + threads, own, PEERS, true, 1));
			});
			goals.add(new Goal(NETWORK + 1, own, PEERS, true, 1.8));
		}
		for (String workload : List.of("one-key-8", "one-key-64", "one-key-4x4")) {
			goals.add(new Goal(workload, ContenderType.HOLDFAST, List.of(ContenderType.R_LOCK), true, 12));
		}
		for (String workload : List.of("semaphore-64", "semaphore-4x16")) {
			goals.add(new Goal(workload, ContenderType.HOLDFAST_PERMITS, List.of(ContenderType.R_PERMITS), true, 12));
		}
		goals.add(new Goal("renewal-10000", ContenderType.HOLDFAST, List.of(ContenderType.R_LOCK), false, 1.5));
		OWN.forEach((own) -> goals.add(new Goal(UNCONTENDED + 8, own, List.of(), false, 5 * 1024)));
		return goals;
	}

	/** The names of the workloads that the goals need. */
	static Set<String> workloads() {
		return ALL.stream().map(Goal::workload).collect(Collectors.toCollection(LinkedHashSet::new));
	}

	/** The contenders of a workload that its goals need, and a few beside them. */
	static Set<ContenderType> contenders(Workload workload) {
		Set<ContenderType> contenders = ALL.stream()
			.filter((goal) -> goal.workload().equals(workload.name()))
			.flatMap((goal) -> Stream.concat(Stream.of(goal.own()), goal.others().stream()))
			.collect(Collectors.toSet());
		if (isPair(workload.name())) {
			contenders.addAll(CONTEXT);
		}
		return contenders;
	}

	private static boolean isPair(String workload) {
		return workload.startsWith(UNCONTENDED) || workload.startsWith(NETWORK);
	}

	/**
	 * Two tables, in Markdown: the uncontended rows beside the bare pair, and all goals.
	 */
	static String tables(List<Report> all) {
		Map<String, Report> reports = all.stream().collect(Collectors.toMap(Report::name, Function.identity()));
		String bare = ContenderType.LETTUCE.label();
		List<String> pairs = workloads().stream().filter(Goals::isPair).toList();
		StringBuilder text = new StringBuilder("\n**goals**\n\n| × ").append(bare).append(" |");
		pairs.forEach((workload) -> text.append(' ').append(workload).append(" |"));
		text.append("\n| --- |").append(" ---: |".repeat(pairs.size())).append('\n');
		Stream.of(PEERS, OWN, CONTEXT).flatMap(List::stream).forEach((contender) -> {
			text.append("| ").append(contender.label()).append(" |");
			pairs.forEach((workload) -> text.append(' ')
				.append(Report.format(Objects.requireNonNull(reports.get(workload)).ratio(contender.label(), bare)))
				.append(" |"));
			text.append('\n');
		});
		text.append("\n| workload | contender | beside | goal | reached |\n| --- | --- | --- | ---: | ---: |\n");
		ALL.forEach((goal) -> text.append(goal.row(Objects.requireNonNull(reports.get(goal.workload())))));
		return text.toString();
	}

	/**
	 * One goal.
	 *
	 * @param workload its workload
	 * @param own the contender of Holdfast
	 * @param others the contenders beside it, of which the best one counts; if there are
	 * none, the bytes of a cycle are meant
	 * @param isLeast whether the aim is the least that is to be reached, or the most
	 */
	private record Goal(String workload, ContenderType own, List<ContenderType> others, boolean isLeast, double aim) {

		private String row(Report report) {
			double reached = report.median(this.own.label(), "bytes/op");
			String beside = "bytes/op";
			if (!this.others.isEmpty()) {
				ContenderType best = this.others.stream()
					.min(Comparator.comparingDouble((other) -> ratio(report, other)))
					.orElseThrow();
				reached = ratio(report, best);
				beside = "× " + best.label() + ((this.others.size() > 1) ? ", the fastest peer" : "");
			}
			boolean isMissed = this.isLeast ? reached < this.aim : reached > this.aim;
			String mark = isMissed ? "**" : "";
			return "| %s | %s | %s | %s %s | %s%s%s |\n".formatted(this.workload, this.own.label(), beside,
					this.isLeast ? "≥" : "≤", Report.format(this.aim), mark, Report.format(reached), mark);
		}

		private double ratio(Report report, ContenderType other) {
			return report.ratio(this.own.label(), other.label());
		}

	}

}
