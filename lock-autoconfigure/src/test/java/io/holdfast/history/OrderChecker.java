package io.holdfast.history;

import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

import io.holdfast.history.Event.Mode;
import io.holdfast.history.Event.Type;

/**
 * Judges the order inside an instance: equal fair requests are served in the order of
 * their arrival.
 */
final class OrderChecker {

	private final History history;

	OrderChecker(History history) {
		this.history = history;
	}

	/**
	 * Judge the order of the requests for a key. Requests that gave up are left out,
	 * since the time of their grant is unknown.
	 * @param all the requests, in the order of their arrival
	 */
	void judgeOrder(List<Request> all) {
		List<Request> inTurn = all.stream().filter((request) -> request.inTurn != null && request.isHold()).toList();
		for (int i = 0; i < inTurn.size(); i++) {
			for (Request later : inTurn.subList(i + 1, inTurn.size())) {
				Request first = inTurn.get(i);
				if (areAlike(first, later) && isBefore(later, first) && !isExcused(first)) {
					this.history.violated(10, "granted before one that came first: " + later + " before " + first);
				}
			}
		}
	}

	/**
	 * Return whether two requests are equal, and so served in the order of their arrival.
	 * Requests for a whole lock are equal in any terms.
	 */
	private static boolean areAlike(Request one, Request other) {
		Event asked = one.asked;
		Event otherAsked = other.asked;
		boolean alike = asked.permits() == otherAsked.permits() && asked.limit() == otherAsked.limit()
				&& asked.lease() == otherAsked.lease();
		return asked.by().equals(otherAsked.by()) && asked.mode() == otherAsked.mode()
				&& (alike || asked.mode() == Mode.EXCLUSIVE) && Objects.equals(one.inTurn, other.inTurn);
	}

	/**
	 * Return whether a request was granted before another, as far as their users can see:
	 * messages of the store overtake each other.
	 */
	private boolean isBefore(Request one, Request other) {
		long onTheWay = isServedHere(one) ? 0 : this.history.slack() / 20;
		return one.begin() + onTheWay < other.begin();
	}

	private static boolean isServedHere(Request request) {
		return "HERE".equals(request.inTurn);
	}

	/**
	 * Return whether the request may have lost its place in the store's queue, reached
	 * the queue late, or seen its grant late. An instance that decides alone has no such
	 * excuse.
	 */
	private boolean isExcused(Request request) {
		if (isServedHere(request)) {
			return false;
		}
		String by = request.asked.by();
		long from = request.asked.at();
		long until = request.begin();
		Troubles troubles = this.history.troubles();
		boolean confirming = troubles.all(Type.CONFIRMING).stream().anyMatch((event) -> event.by().equals(by));
		boolean failedOver = troubles.all(Type.FAILED_OVER)
			.stream()
			.anyMatch((over) -> over.at() <= until && Math.max(over.at(), over.until()) >= from);
		return confirming || failedOver || troubles.isTroubled(by, from, until)
				|| Stream.of(Type.DEAF, Type.FULL).anyMatch((type) -> troubles.happened(type, by, from, until))
				|| Stream.concat(this.history.cutting(request.group()), this.history.limits(request.group()).stream())
					.anyMatch((event) -> event.at() <= until && Math.max(event.at(), event.until()) >= from);
	}

}
