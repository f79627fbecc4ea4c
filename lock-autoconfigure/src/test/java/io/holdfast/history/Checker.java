package io.holdfast.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;

import io.holdfast.history.Event.Type;

/**
 * Judges a history by what must hold whatever happens, by sweeps over the intervals in
 * which something was asked for and held. What a history does not tell is not judged:
 * processes that are killed write nothing down any more. The properties, as they are
 * numbered in messages:
 * <ol>
 * <li>At no moment more is held than may be, a lease counting from the return of acquire
 * to the earlier of its own validity's end and the start of its release.
 * <li>Fencing tokens grow.
 * <li>What is over changes nothing: no repeated command does, and no lease ends early
 * without a cause.
 * <li>Nothing is stored without an end, and no more than is held and waited for.
 * <li>Waits end by their deadlines, and by interrupts.
 * <li>Nobody waits for what is free.
 * <li>Nothing is renewed that is not held, and nothing is left.
 * <li>The reason that is told is the reason.
 * <li>Whoever watches is told of who is there, not for long of who is not, and of what is
 * held.
 * </ol>
 */
public final class Checker {

	private static final Set<Type> ABOUT_NO_REQUEST = EnumSet.of(Type.RENEWAL, Type.REPEATED, Type.INQUIRED,
			Type.INQUIRY_ANSWERED, Type.REPORTED, Type.FORCED);

	private final long slack;

	private final long poll;

	private final List<String> violations = new ArrayList<>();

	private final Map<String, Request> requests = new LinkedHashMap<>();

	private final Map<String, List<Request>> groups = new LinkedHashMap<>();

	private final Troubles troubles = new Troubles();

	private Checker(long slackNanos, long pollNanos) {
		this.slack = slackNanos;
		this.poll = pollNanos;
	}

	/**
	 * Judge a history.
	 * @param history its events, in any order
	 * @param slackNanos how late a wait may end
	 * @param pollNanos how long a waiter may take to see what it was not told
	 * @return what must not have happened; nothing if all is well
	 */
	public static List<String> check(List<Event> history, long slackNanos, long pollNanos) {
		Checker checker = new Checker(slackNanos, pollNanos);
		List<Event> inOrder = new ArrayList<>(history);
		inOrder.sort(Comparator.comparingLong(Event::at));
		inOrder.forEach(checker::read);
		checker.judge();
		return checker.violations;
	}

	private void judge() {
		for (Request request : this.requests.values()) {
			close(request);
		}
		for (Request request : this.requests.values()) {
			request.root.holdEnd = Math.max(request.root.holdEnd, request.end());
			request.root.usedUntil = Math.max(request.root.usedUntil, request.endedAt);
		}
		this.groups.forEach((group, all) -> {
			List<Request> holds = all.stream()
				.filter(Request::isHold)
				// What is passed on at once is granted twice in no time.
				.sorted(Comparator.comparingLong(Request::begin).thenComparingLong(Checker::fence))
				.toList();
			judgeOverlaps(group, holds);
			holds.forEach(this::judgeConfirmation);
			judgeFences(group, all, holds);
			judgeProgress(group, all, holds);
			judgeTimeOuts(group, all);
		});
		this.requests.values().forEach(this::judgeEntry);
		this.requests.values().forEach(this::judgeEnd);
		this.requests.values().forEach(this::judgeWait);
		this.requests.values().forEach(this::judgeReason);
		judgeWhatIsLeft();
		this.violations.addAll(new FleetChecker(this.troubles, this.requests, this.slack).check());
	}

	private void violated(int property, String what) {
		this.violations.add("property " + property + ": " + what);
	}

	// What the history says

	private void read(Event event) {
		this.troubles.passed(event);
		if (event.type() == Type.ASKED) {
			Request request = new Request(event);
			if (this.requests.put(event.id(), request) != null) {
				throw new IllegalArgumentException("asked twice: " + event);
			}
			this.groups.computeIfAbsent(request.group(), (k) -> new ArrayList<>()).add(request);
		}
		else if (event.id().isEmpty() || ABOUT_NO_REQUEST.contains(event.type())) {
			this.troubles.add(event);
		}
		else {
			Request request = this.requests.get(event.id());
			if (request == null) {
				throw new IllegalArgumentException("not asked for: " + event);
			}
			read(event, request);
		}
	}

	private void read(Event event, Request request) {
		switch (event.type()) {
			case INTERRUPTED -> request.interruptedAt = Math.min(request.interruptedAt, event.at());
			case GRANTED -> {
				answered(event, request);
				request.granted = event;
				request.heldUntil = event.until();
				request.validUntil = event.until();
				Request outer = event.why().isEmpty() ? null : this.requests.get(event.why());
				if (outer != null) {
					request.root = outer.root;
				}
			}
			case REFUSED -> {
				answered(event, request);
				request.refused = event;
			}
			case HELD -> {
				if (event.at() > request.endedAt) {
					violated(3, "held again: " + event + " of " + request);
				}
				request.heldUntil = Math.max(request.heldUntil, event.until());
				request.validUntil = Math.max(request.validUntil, event.until());
			}
			case PASSED_ON -> {
				Request before = this.requests.get(event.why());
				request.first = (before != null) ? before.root.first : request;
			}
			case CONFIRMED -> request.confirmedAt = event.at();
			case GRANTED_AGAIN -> request.grantedAgainAt = event.at();
			case SHRUNK -> request.shrinks.add(event);
			case RELEASING -> {
				ended(event, request);
				request.releasing = (request.releasing == null) ? event : request.releasing;
			}
			case LOST -> {
				ended(event, request);
				request.lost = event;
			}
			case RELEASED -> request.answers.add(event);
			case RETAINED -> request.retainedUntil = event.until();
			default -> throw new IllegalArgumentException("about a request? " + event);
		}
	}

	private void answered(Event event, Request request) {
		if (request.answeredAt != Request.NEVER) {
			violated(8, "answered twice: " + event + " of " + request);
		}
		request.answeredAt = event.at();
	}

	private static void ended(Event event, Request request) {
		// The first end counts: what has ended stays so.
		if (request.endedAt == Request.NEVER) {
			request.endedAt = event.at();
			request.heldUntil = event.until();
		}
	}

	private void close(Request request) {
		if (request.endedAt == Request.NEVER && request.heldUntil == 0) {
			// A process that told nothing of it any more: until then, and not longer.
			request.heldUntil = (request.granted != null) ? request.granted.at() : 0;
		}
	}

	private List<Event> all(Type type) {
		return this.troubles.all(type);
	}

	private long crashOf(String instance) {
		return this.troubles.crashOf(instance);
	}

	/** When what was stored of a key was lost, or taken from its holders. */
	private List<Cut> cuts(String group) {
		return cutting(group).map(Cut::of).sorted(Comparator.comparingLong(Cut::from)).toList();
	}

	private Stream<Event> cutting(String group) {
		return Stream.of(Type.DATA_LOST, Type.FORCED)
			.flatMap((type) -> all(type).stream())
			.filter((event) -> event.key().isEmpty() || Request.group(event).equals(group));
	}

	/** Whether it was taken away, and not only something of the same key. */
	private boolean isTakenBy(Event cutting, Request request) {
		Request taken = this.requests.get(cutting.id());
		return cutting.id().isEmpty() || taken != null && taken.root == request.root;
	}

	// 1

	private void judgeOverlaps(String group, List<Request> holds) {
		List<Cut> cuts = cuts(group);
		List<Span> spans = new ArrayList<>(holds.size());
		for (Request hold : holds) {
			long begin = hold.begin();
			long end = Math.max(hold.holdEnd, hold.retainedUntil);
			for (Cut cut : cuts) {
				if (hold.first.asked.at() <= cut.until() && cut.from() < end) {
					// It may have been granted before, though its user learns of it
					// later.
					if (begin < cut.from()) {
						spans.add(new Span(hold, begin, cut.from()));
					}
					begin = Math.max(begin, cut.until() + hold.asked.lease());
					end = hold.holdEnd;
				}
			}
			if (begin < end) {
				spans.add(new Span(hold, begin, end));
			}
		}
		spans.sort(Comparator.comparingLong(Span::begin));
		List<Span> lasting = new ArrayList<>();
		for (Span next : spans) {
			// A release and a grant in the same nanosecond are one after the other.
			lasting.removeIf((span) -> span.end() <= next.begin());
			lasting.add(next);
			if (lasting.size() > 1) {
				judgeTogether(group, lasting, next.begin());
			}
		}
	}

	/** Where grants are to be confirmed, one that is not may be lost at any time. */
	private void judgeConfirmation(Request hold) {
		boolean confirming = all(Type.CONFIRMING).stream().anyMatch((event) -> event.by().equals(hold.asked.by()));
		if (confirming && hold.confirmedAt > hold.begin()) {
			violated(1, "granted, but not confirmed: " + hold);
		}
	}

	private void judgeTogether(String group, List<Span> lasting, long at) {
		long held = 0;
		long lastAsked = Long.MIN_VALUE;
		long limit = 0;
		for (Span span : lasting) {
			Request hold = span.hold();
			boolean readsWhatItWrites = hold.asked.mode() == Event.Mode.READ && lasting.stream()
				.anyMatch((other) -> other.hold().asked.mode() == Event.Mode.WRITE && isOfSameUser(other.hold(), hold));
			held += readsWhatItWrites ? 0 : hold.weight(at);
			lastAsked = Math.max(lastAsked, hold.first.asked.at());
			limit = Math.max(limit, hold.limit());
		}
		// One of them was granted last, after the last of them was asked for. What is
		// passed on within an instance was granted to the first there.
		long allowed = highestLimit(group, lastAsked, at, limit);
		if (held > allowed) {
			violated(1, held + " are held of " + group + " at " + at + " of which there are " + allowed + ": "
					+ lasting.stream().map(Span::hold).toList());
		}
	}

	/** What is entered does not count a second time: it has to be its user's. */
	private void judgeEntry(Request request) {
		Request root = request.root;
		if (root == request) {
			return;
		}
		boolean same = isOfSameUser(root, request) && root.asked.mode() == request.asked.mode()
				&& root.group().equals(request.group());
		boolean open = this.groups.get(root.group())
			.stream()
			.anyMatch((other) -> other != request && other.root == root && other.endedAt >= request.asked.at());
		if (!same || !open) {
			violated(1, "entered what " + (same ? "was over: " : "is not its own: ") + request + " in " + root);
		}
	}

	private static boolean isOfSameUser(Request one, Request other) {
		return !one.asked.user().isEmpty() && one.asked.user().equals(other.asked.user())
				&& one.asked.by().equals(other.asked.by());
	}

	private List<Event> limits(String group) {
		return all(Type.LIMIT).stream().filter((event) -> ("semaphore " + event.key()).equals(group)).toList();
	}

	private long highestLimit(String group, long from, long until, long asked) {
		return limitsBetween(group, from, until, asked).stream().mapToLong(Long::longValue).max().orElse(asked);
	}

	/** All limits that may have been in force at some time. */
	private List<Long> limitsBetween(String group, long from, long until, long asked) {
		List<Event> limits = limits(group);
		if (limits.isEmpty()) {
			return List.of(asked);
		}
		List<Long> inForce = new ArrayList<>();
		long since = Long.MIN_VALUE;
		long value = -1;
		for (int i = 0; i <= limits.size(); i++) {
			long ends = (i < limits.size()) ? Math.max(limits.get(i).until(), limits.get(i).at()) : Long.MAX_VALUE;
			if (since <= until && from <= ends) {
				inForce.add((value < 0) ? asked : value);
			}
			if (i < limits.size()) {
				since = limits.get(i).at();
				value = limits.get(i).limit();
			}
		}
		if (all(Type.DATA_LOST).stream().anyMatch((loss) -> loss.at() <= until)) {
			inForce.add(asked);
		}
		return inForce;
	}

	// 2

	private void judgeFences(String group, List<Request> all, List<Request> holds) {
		List<Cut> cuts = cuts(group);
		List<Request> fenced = holds.stream()
			.filter((hold) -> hold.granted != null && hold.granted.fence() != 0)
			.toList();
		// What was granted before a loss, though its user learns of it later, is out of
		// the order.
		Predicate<Request> sure = (hold) -> cuts.stream()
			.noneMatch((cut) -> hold.first.asked.at() <= cut.until() && cut.from() <= hold.begin());
		long highest = 0;
		long highestWhole = 0;
		for (Request hold : fenced.stream().filter(sure).toList()) {
			long fence = fence(hold);
			if (fence <= (hold.isWhole() ? highest : highestWhole)) {
				violated(2, "the fence did not grow: " + hold + " after "
						+ fenced.stream().filter((other) -> fence(other) >= fence && other != hold).toList());
			}
			highest = Math.max(highest, fence);
			highestWhole = hold.isWhole() ? Math.max(highestWhole, fence) : highestWhole;
		}
		// Whoever asks later than another was granted it gets a greater one.
		List<Request> byAsking = fenced.stream()
			.sorted(Comparator.comparingLong((hold) -> hold.first.asked.at()))
			.toList();
		int granted = 0;
		long before = 0;
		for (Request hold : byAsking) {
			while (granted < fenced.size() && fenced.get(granted).begin() < hold.first.asked.at()) {
				before = Math.max(before, fence(fenced.get(granted++)));
			}
			if (fence(hold) <= before) {
				violated(2, "the fence did not grow: " + hold + ", before it " + before);
			}
		}
	}

	private static long fence(Request hold) {
		return (hold.granted != null) ? hold.granted.fence() : 0;
	}

	// 3

	private void judgeEnd(Request request) {
		Event lost = request.lost;
		if (lost != null && request.releasing == null || lost != null && lost.at() <= request.releasing.at()) {
			boolean early = lost.until() == 0 || lost.at() < lost.until();
			if (early && !hasCause(request, lost.at())) {
				violated(3, "lost without a cause: " + lost + " of " + request);
			}
			// There was time enough to try once more, unless it was granted late.
			long from = lost.until() - request.asked.lease() / 2;
			if (!early && request.root.begin() < from && lost.why().equals("RENEWED") && !hasCause(request, lost.at())
					&& !this.troubles.isTroubled(request.asked.by(), from, lost.until())) {
				violated(3, "lost although it could be renewed: " + lost + " of " + request);
			}
		}
		for (Cut cut : cutting(request.group()).filter((event) -> isTakenBy(event, request)).map(Cut::of).toList()) {
			long most = cut.until() + request.asked.lease();
			if (request.isHold() && request.first.begin() < cut.from() && request.grantedAgainAt < cut.from()
					&& request.holdEnd > most && most <= this.troubles.lastAt()) {
				violated(3, "held on after it was taken away at " + cut + ": " + request);
			}
		}
		if (request.answers.stream().filter((answer) -> answer.why().equals("RELEASED")).count() > 1) {
			violated(3, "released twice: " + request);
		}
		for (Event answer : request.answers) {
			Event releasing = request.releasing;
			if (answer.why().equals("RELEASED") && releasing != null
					&& (releasing.until() != 0 || lost != null && lost.at() < releasing.at())) {
				violated(8, "over before its release, and told to be released: " + answer + " of " + request);
			}
			if (answer.why().equals("LOST") && releasing != null && releasing.until() == 0 && lost == null
					&& !isRetaining(request) && !request.isPart() && !hasCause(request, answer.at())
					&& !isOverWhilePaused(request, releasing.at(), answer.at())) {
				violated(8, "held until its release, and told to be lost: " + answer + " of " + request);
			}
		}
	}

	/** Its instance stood still after it had begun to release it, for too long. */
	private boolean isOverWhilePaused(Request request, long from, long until) {
		return request.validUntil <= until && this.troubles.happened(Type.PAUSED, request.asked.by(), from, until);
	}

	/** The last lease on a hold ends it, whatever was asked for with the first. */
	private static boolean isRetaining(Request request) {
		return Stream.of(request, request.root)
			.anyMatch((one) -> one.releasing != null && one.releasing.why().equals("RETAINED"));
	}

	private boolean hasCause(Request request, long at) {
		// What was released before stands there again, and in the way, but not in that of
		// what was confirmed.
		if (all(Type.CONFIRMING).isEmpty() && all(Type.FAILED_OVER).stream()
			.anyMatch((over) -> over.at() >= request.root.first.asked.at() && over.at() <= at)) {
			return true;
		}
		return cuts(request.group()).stream()
			.anyMatch((cut) -> cut.until() >= request.root.first.asked.at() && cut.from() <= at)
				|| this.troubles.happened(Type.SHUT_DOWN, request.asked.by(), Long.MIN_VALUE, at);
	}

	// 5

	private void judgeWait(Request request) {
		Event asked = request.asked;
		long crash = crashOf(asked.by());
		long answered = Math.min(request.answeredAt, crash);
		long deadline = Math.min((asked.until() != 0) ? asked.until() : Request.NEVER, request.interruptedAt);
		long end = Math.min(answered, this.troubles.lastAt());
		long paused = this.troubles.pausedFor(asked.by(), asked.at(), end);
		if (end - deadline > this.slack + paused) {
			violated(5, "answered late, or not at all: " + request);
		}
		boolean quiet = !all(Type.QUIET).isEmpty() && asked.at() <= all(Type.QUIET).get(0).at();
		if (quiet && answered == Request.NEVER) {
			violated(5, "never answered: " + request);
		}
	}

	// 6

	/** Something that counts while it lasts, from one moment to another. */
	private record Step(long at, long held, boolean grant, long wanted, int unknown) {
	}

	private void judgeProgress(String group, List<Request> all, List<Request> holds) {
		if (all(Type.FAULTS_OVER).isEmpty() || !limits(group).isEmpty() && isLimited(group)) {
			return;
		}
		long from = all(Type.FAULTS_OVER).get(0).at();
		for (Type type : List.of(Type.PAUSED, Type.TROUBLE, Type.OUTAGE, Type.UNCONFIRMED)) {
			from = Math.max(from,
					all(type).stream().mapToLong((event) -> Math.max(event.at(), event.until())).max().orElse(from));
		}
		long lease = all.stream().mapToLong((request) -> request.asked.lease()).max().orElse(0);
		List<Step> steps = new ArrayList<>();
		for (Request hold : holds) {
			long end = Math.max(hold.holdEnd, hold.retainedUntil);
			if (end > hold.begin()) {
				steps.add(new Step(hold.begin(), hold.weight(Long.MIN_VALUE), true, 0, 0));
				steps.add(new Step(end, -hold.weight(Long.MIN_VALUE), false, 0, 0));
			}
		}
		for (Request request : all) {
			long end = Math.min(Math.min(request.answeredAt, crashOf(request.asked.by())), this.troubles.lastAt());
			if (request.isPart()) {
				// What it has by now nobody knows.
				steps.add(new Step(request.asked.at(), 0, false, 0, 1));
				steps.add(new Step(end, 0, false, 0, -1));
			}
			else if (request.asked.why().isEmpty()) {
				steps.add(new Step(request.asked.at(), 0, false, request.weight(Long.MIN_VALUE), 0));
				steps.add(new Step(end, 0, false, -request.weight(Long.MIN_VALUE), 0));
			}
		}
		steps.sort(Comparator.comparingLong(Step::at));
		sweep(group, steps, from, lease + this.poll + this.slack);
	}

	private boolean isLimited(String group) {
		List<Event> limits = limits(group);
		return limits.get(limits.size() - 1).limit() >= 0;
	}

	private void sweep(String group, List<Step> steps, long from, long longest) {
		long limit = this.groups.get(group).stream().mapToLong(Request::limit).min().orElse(0);
		TreeMap<Long, Integer> wanted = new TreeMap<>();
		long held = 0;
		int unknown = 0;
		long freeSince = Request.NEVER;
		for (Step step : steps) {
			if (step.at() - Math.max(freeSince, from) > longest) {
				violated(6, "from " + Math.max(freeSince, from) + " to " + step.at()
						+ " nobody was granted what was free of " + group);
				return;
			}
			held += step.held();
			unknown += step.unknown();
			if (step.wanted() != 0) {
				wanted.merge(Math.abs(step.wanted()), (step.wanted() > 0) ? 1 : -1,
						(left, right) -> (left + right != 0) ? left + right : null);
			}
			boolean free = !wanted.isEmpty() && unknown == 0 && held + wanted.lastKey() <= limit;
			if (!free) {
				freeSince = Request.NEVER;
			}
			else if (step.grant() || freeSince == Request.NEVER) {
				freeSince = step.at();
			}
		}
	}

	// 8

	private void judgeReason(Request request) {
		Event refused = request.refused;
		if (refused == null) {
			return;
		}
		Event asked = request.asked;
		String by = asked.by();
		boolean possible = switch (refused.why()) {
			case "TIMED_OUT" -> true;
			case "STORE" -> this.troubles.isTroubled(by, refused.at() - this.slack, refused.at())
					|| this.troubles.happened(Type.UNCONFIRMED, by, refused.at() - this.slack, refused.at())
							&& hasWaited(request, refused.at());
			case "INTERRUPTED" -> request.interruptedAt <= refused.at();
			case "SHUTDOWN" -> this.troubles.happened(Type.SHUT_DOWN, by, Long.MIN_VALUE, refused.at());
			case "EXCEEDS_LIMIT" -> limitsBetween(request.group(), asked.at(), refused.at(), asked.limit()).stream()
				.anyMatch((limit) -> limit < asked.permits());
			case "SELF_BLOCKED" -> isBlockedBySelf(request);
			case "LOST" -> hasLost(request, refused.at());
			default -> false;
		};
		if (!possible) {
			violated(8, "refused for a reason that was not: " + request);
		}
	}

	/** Whether it waited for as long as it was to, by a clock that may be fast by 1 %. */
	private static boolean hasWaited(Request request, long until) {
		Event asked = request.asked;
		return !asked.why().isEmpty()
				|| asked.until() != 0 && until - asked.at() >= (asked.until() - asked.at()) * 98 / 100;
	}

	private boolean isBlockedBySelf(Request request) {
		// One part of several may be for a key that is not.
		return (request.isPart() ? this.requests.values() : this.groups.get(request.group())).stream()
			.anyMatch((other) -> isOfSameUser(other, request) && other.asked.mode() != request.asked.mode()
					&& other.asked.at() <= request.answeredAt
					&& ((other.granted != null) ? other.root.holdEnd : other.answeredAt) >= request.asked.at());
	}

	/** Something that it had, or already had got, ended by itself or by a fault. */
	private boolean hasLost(Request request, long at) {
		if (request.isPart()) {
			return this.troubles.isAny(Type.DATA_LOST, Type.FAILED_OVER, Type.FORCED, Type.PAUSED, Type.TROUBLE,
					Type.OUTAGE, Type.SHUT_DOWN)
					// Or of something that its user had before.
					|| this.requests.values()
						.stream()
						.anyMatch((other) -> isOfSameUser(other, request) && other.begin() <= at
								&& (other.releasing == null || other.releasing.at() >= request.asked.at()));
		}
		return this.groups.get(request.group())
			.stream()
			.anyMatch((other) -> other.asked.by().equals(request.asked.by()) && other.begin() <= at
					&& (other.lost != null || other.end() < other.endedAt
					// By a shut-down, in the moment of its release.
							|| other.answers.stream().anyMatch((answer) -> answer.why().equals("LOST"))));
	}

	/** Whoever is told that others have it must have met others, not silence. */
	private void judgeTimeOuts(String group, List<Request> all) {
		long lease = all.stream().mapToLong((request) -> request.asked.lease()).max().orElse(0) + this.slack;
		for (Request request : all) {
			Event refused = request.refused;
			if (refused == null || !refused.why().equals("TIMED_OUT") || request.isPart()) {
				continue;
			}
			long from = request.asked.at();
			long until = refused.at();
			boolean silent = all(Type.OUTAGE).stream()
				.anyMatch((outage) -> outage.by().equals(request.asked.by()) && outage.at() <= from
						&& outage.until() >= until);
			boolean met = all(Type.FAILED_OVER).stream().anyMatch((over) -> over.at() <= until && from <= over.until());
			for (Request other : all) {
				boolean near = !silent || other.asked.by().equals(request.asked.by());
				long end = Math.min(
						(other.granted != null) ? Math.max(other.root.holdEnd, other.retainedUntil) : other.answeredAt,
						Request.NEVER);
				if (other != request && near && other.asked.at() <= until && end + lease >= from) {
					met = true;
					break;
				}
			}
			if (!met) {
				violated(8, "told that others have " + group + ", but there were none"
						+ (silent ? " before the outage" : "") + ": " + request);
			}
		}
	}

	// 4 and 7

	private void judgeWhatIsLeft() {
		Map<String, Long> held = new TreeMap<>();
		Map<String, Long> waiting = new TreeMap<>();
		for (Event stored : all(Type.STORED)) {
			if (stored.until() == -1 && !stored.why().equals("LIMIT")) {
				violated(4, "stored without an end: " + stored);
			}
			boolean quiet = all(Type.QUIET).stream().anyMatch((event) -> event.at() <= stored.at());
			if (quiet && stored.why().equals("HELD")) {
				held.merge(Request.group(stored), (long) stored.permits(), Long::sum);
			}
			else if (quiet && stored.why().equals("WAITING")) {
				waiting.merge(Request.group(stored), (long) stored.permits(), Long::sum);
			}
		}
		held.forEach((group, permits) -> {
			long living = living(group).stream()
				.filter((request) -> request.isHold()
						&& Math.max(request.holdEnd, request.retainedUntil) > this.troubles.lastAt())
				.mapToLong((request) -> request.isPermits() ? request.weight(this.troubles.lastAt()) : 1)
				.sum();
			if (permits != living) {
				violated(4, permits + " are in use of " + group + " when all is quiet, and " + living + " are held");
			}
		});
		waiting.forEach((group, count) -> {
			long living = living(group).stream().filter((request) -> request.answeredAt == Request.NEVER).count();
			if (count > living) {
				violated(4, count + " wait in the store for " + group + " when all is quiet, and " + living + " do");
			}
		});
		for (Event repeated : all(Type.REPEATED)) {
			if (!repeated.why().isEmpty()) {
				violated(3, "a repeated command changed something: " + repeated);
			}
		}
		for (Event renewal : all(Type.RENEWAL)) {
			Request request = this.requests.get(renewal.id());
			if (request == null || request.granted != null && request.root.usedUntil < renewal.at()
					&& !isEnteredByPart(request, renewal.at())) {
				violated(7, "renewed, but not held: " + renewal + " of " + request);
			}
		}
		all(Type.UNEXPECTED).forEach((event) -> violated(event.permits(), "unexpected: " + event));
		for (Event forgotten : all(Type.FORGOTTEN)) {
			boolean returned = all(Type.FAILED_OVER).stream().anyMatch((over) -> over.at() <= forgotten.at());
			if (!returned
					&& !this.troubles.isTroubled(forgotten.by(), forgotten.until() - this.slack, forgotten.at())) {
				violated(4, "kept for who knows nothing of it: " + forgotten);
			}
		}
		for (Event left : all(Type.LEFT)) {
			if (left.permits() != 0) {
				violated(7, "left by the end: " + left);
			}
		}
	}

	/** Whether one of several may be nested in it, while the others are waited for. */
	private boolean isEnteredByPart(Request request, long at) {
		return this.groups.get(request.group())
			.stream()
			.anyMatch((other) -> other.isPart() && isOfSameUser(other, request) && other.asked.at() <= at
					&& at <= other.answeredAt);
	}

	private List<Request> living(String group) {
		return this.groups.getOrDefault(group, List.of())
			.stream()
			.filter((request) -> crashOf(request.asked.by()) == Request.NEVER)
			.toList();
	}

	private record Span(Request hold, long begin, long end) {
	}

	/** At one moment of that time, nobody knows which. */
	private record Cut(long from, long until) {

		static Cut of(Event event) {
			return new Cut(event.at(), Math.max(event.at(), event.until()));
		}

	}

}
