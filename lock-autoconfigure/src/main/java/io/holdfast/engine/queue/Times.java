package io.holdfast.engine.queue;

/** Times of a clock that may overflow: only their differences count. */
final class Times {

	private Times() {
	}

	static long earlier(long left, long right) {
		return (left - right < 0) ? left : right;
	}

	static long later(long left, long right) {
		return (left - right < 0) ? right : left;
	}

}
