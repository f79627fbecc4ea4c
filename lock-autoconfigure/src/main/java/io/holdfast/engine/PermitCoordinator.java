package io.holdfast.engine;

import java.util.HashSet;
import java.util.Set;

import org.jspecify.annotations.Nullable;

import io.holdfast.NotAcquiredException.Reason;

/**
 * The coordinator of permits. Waiters contend as they come, so that the store's queue has
 * those of all instances in their order; only so many, though, since each of them asks
 * again now and then. Only the store knows what others hold.
 *
 * <p>
 * With local hand-over, of those that ask for the same only so many contend as could be
 * granted it together, by what is held here; the others follow one by one. At least one
 * contends, so that whatever is free is taken.
 */
class PermitCoordinator extends ResourceCoordinator {

	/** How many waiters contend at a time; the others wait here. */
	static final int CONTENDERS = 200;

	private final LocalHandOver handOver;

	private final Set<Hold> holds = new HashSet<>();

	/** How many permits they were granted. */
	private long held;

	/** The number of the last command by which somebody here asked. */
	private long asked;

	/** The highest number of those that are over. */
	private long heard;

	private @Nullable RemoteWaiterProbe elsewhere;

	/** Who came last to wait here. */
	private @Nullable Waiter last;

	PermitCoordinator(Parts parts, Resource resource) {
		super(parts, resource);
		this.handOver = this.context.settings.localHandOver(resource.kind());
	}

	@Override
	void arrive(Waiter waiter) {
		Demand demand = waiter.demand;
		waiter.standBehind(this.asked);
		if (this.context.isClosed()) {
			fail(waiter, waiter.notAcquired(Reason.SHUTDOWN));
		}
		else if (!tryBarge(waiter)) {
			waitOrAsk(waiter);
		}
	}

	private void waitOrAsk(Waiter waiter) {
		Demand demand = waiter.demand;
		if (demand.waits() && isFull()) {
			fail(waiter, waiter.notAcquired(Reason.TOO_MANY_WAITERS));
			return;
		}
		if (!demand.fair()) {
			forgetLastIfGone();
		}
		boolean first = isFirst(demand);
		if (first && demand.waits() && demand.permits() <= demand.limit()) {
			askForHead();
		}
		if (first && (!demand.waits() || admits(waiter) || mayPass())) {
			contend(waiter);
			waiter.attempt.ask();
		}
		else if (demand.waits()) {
			standInLine(waiter);
			this.last = waiter;
		}
		else {
			// Others wait here already.
			timedOut(waiter);
		}
	}

	/**
	 * Have the first waiter in the queue ask before a request that passes the queue: it
	 * contends only when there are less of its like, and might be passed for ever.
	 */
	private void askForHead() {
		Waiter head = head();
		if (head != null && handsOver(head.demand) && this.contenders.size() < CONTENDERS) {
			contend(head);
			head.attempt.ask();
		}
	}

	/** Return whether nobody here comes before it. */
	private boolean isFirst(Demand demand) {
		return this.queue.isEmpty() || demand.permits() > demand.limit()
				|| !demand.fair() && !(handsOver(demand) && isLikeTheLast(demand));
	}

	/**
	 * Return whether what is not fair asks at once, as it would not be seen behind
	 * others.
	 */
	private boolean mayPass() {
		return !this.queue.isEmpty() && this.contenders.size() < CONTENDERS;
	}

	/**
	 * Return whether those who wait for the same here are before it even if it is not
	 * fair: whatever is free for it is so for them, too.
	 */
	private boolean isLikeTheLast(Demand demand) {
		return this.last != null && this.last.demand.isLike(demand);
	}

	private void forgetLastIfGone() {
		if (this.last != null && !this.queue.contains(this.last)) {
			this.last = this.queue.stream().reduce((one, next) -> next).orElse(null);
		}
	}

	@Override
	boolean admits(Waiter waiter) {
		Demand demand = waiter.demand;
		// What cannot be had need not wait for being refused.
		return demand.permits() > demand.limit() || this.contenders.size() < CONTENDERS
				&& (handsOver(demand) ? !maySucceed(demand, 0) : isToAsk(waiter));
	}

	/**
	 * Return whether it asks by itself. Not while others of this instance stand in the
	 * queue before it, whom it may not pass, and the last one here that asked has no
	 * answer: until then a release may bring it in.
	 */
	private boolean isToAsk(Waiter waiter) {
		return !waiter.demand.fair() || this.heard >= waiter.behind() || this.contenders.isEmpty()
				|| !this.contenders.get(0).attempt.isBusy();
	}

	/**
	 * Return whether others here may go on with what such a request was granted, and it
	 * with theirs. Whoever asks otherwise has a place of its own in the store.
	 */
	boolean handsOver(Demand demand) {
		return this.handOver.isOn() && demand.waits() && demand.renewal();
	}

	/**
	 * Return whether it is enough that others contend, whom one follows who asks for the
	 * same.
	 */
	boolean maySucceed(Demand demand, int released) {
		long wanted = this.held + offered() - released + demand.permits();
		boolean follows = false;
		for (Waiter contender : this.contenders) {
			if (contender.demand.isLike(demand)) {
				follows = true;
				wanted += demand.permits();
			}
		}
		return follows && wanted > demand.limit();
	}

	/**
	 * Whoever goes on with what is released counts as who had it: no more contend than
	 * before.
	 */
	@Override
	boolean mayFollow(Waiter waiter, int released) {
		Demand demand = waiter.demand;
		return this.contenders.size() < CONTENDERS && !(handsOver(demand) && maySucceed(demand, released));
	}

	@Override
	public long onRequestSent() {
		return ++this.asked;
	}

	@Override
	public void onReply(long number) {
		this.heard = Math.max(this.heard, number);
		advance();
	}

	@Override
	void began(Hold hold) {
		this.holds.add(hold);
		this.held += hold.demand.permits();
	}

	@Override
	void ended(Hold hold) {
		discount(hold);
	}

	final void discount(Hold hold) {
		if (this.holds.remove(hold)) {
			this.held -= hold.demand.permits();
		}
	}

	final long held() {
		return this.held;
	}

	@Override
	@Nullable Waiter nextEligibleWaiter(Hold hold, long now) {
		Waiter first = first();
		return (first != null && canTakeOver(hold, first, now)) ? first : null;
	}

	@Override
	void onHandOver(Hold hold, Waiter next, long now) {
		if (rules().isLate(hold, now)) {
			lookElsewhere(next.demand, now);
		}
	}

	@Override
	public boolean canTakeOver(Hold hold, Waiter waiter, long now) {
		Demand demand = waiter.demand;
		boolean quiet = this.elsewhere != null && this.elsewhere.isQuiet(now);
		// What some was given back of may not be known as that to the store.
		return handsOver(demand) && hold.permits == hold.demand.permits() && hold.permits == demand.permits()
				&& hold.demand.limit() == demand.limit() && rules().canTakeOver(hold, demand, quiet, now);
	}

	private void lookElsewhere(Demand demand, long now) {
		int standing = 0;
		for (Waiter contender : this.contenders) {
			if (!contender.attempt.isBusy()) {
				// Whether it stands in the queue is not known.
				return;
			}
			standing++;
		}
		if (this.elsewhere == null) {
			this.elsewhere = new RemoteWaiterProbe(this.context, this.resource, this::execute, this.handOver, now);
		}
		this.elsewhere.look(standing, demand.limit(), now);
	}

	/**
	 * Who asked first, of all who wait; whoever is called, and so comes by itself, only
	 * if nobody else does.
	 */
	private @Nullable Waiter first() {
		Waiter called = called();
		for (Waiter contender : this.contenders) {
			if (contender.demand.waits() && contender != called) {
				return contender;
			}
		}
		Waiter head = head();
		return (head != null) ? head : called;
	}

	@Override
	boolean leavesPlace(Demand demand) {
		return handsOver(demand);
	}

	@Override
	public Waiter firstLike(Waiter contender) {
		if (handsOver(contender.demand)) {
			for (Waiter first : this.contenders) {
				if (first.demand.isLike(contender.demand)) {
					return first;
				}
			}
		}
		return contender;
	}

	@Override
	boolean isHeldBy(Thread owner) {
		return false;
	}

	@Override
	public void lost(Hold hold) {
		discount(hold);
		detach(hold);
		advance();
	}

}
