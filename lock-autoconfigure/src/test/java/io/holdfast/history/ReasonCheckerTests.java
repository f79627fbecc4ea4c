package io.holdfast.history;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Judge of histories: ends with a false reason are refused, which is property 8.
 */
class ReasonCheckerTests extends CheckerTestCase {

	ReasonCheckerTests() {
		super(1);
	}

	@Test
	@DisplayName("8: An earlier limit may be in force again after a fail-over")
	void limitsOfAnotherServer() {
		String before = "0 LIMIT key=k limit=1 until=1";
		String after = "2 LIMIT key=k limit=-1 until=3";
		String asked = "50 ASKED by=a id=1 mode=PERMITS key=k permits=2 limit=3";
		String refused = "60 REFUSED id=1 why=EXCEEDS_LIMIT";
		refuses(8, before, after, asked, refused);
		// The last limit may be lost with its server.
		accepts(before, after, "5 FAILED_OVER until=90", asked, refused);
		refuses(8, before, after, "5 FAILED_OVER until=90", "7 LIMIT key=k limit=-1 until=8", asked, refused);
	}

	@Test
	@DisplayName("8: A command that is late by a trouble may run into the next trouble, and be stored after that")
	void troublesInSequence() {
		String[] before = { "0 ASKED by=b id=1 mode=EXCLUSIVE key=k lease=100", "1 GRANTED id=1 fence=1 until=101",
				"20 RELEASING id=1", "21 RELEASED id=1 why=RELEASED",
				"5000 ASKED by=a id=2 mode=EXCLUSIVE key=k lease=100 why=NOT_WAITING",
				"5001 REFUSED id=2 why=TIMED_OUT" };
		String first = "10 TROUBLE by=b until=2000";
		String next = "1990 OUTAGE by=b until=4990";
		refuses(8, before);
		refuses(8, and(before, first));
		refuses(8, and(before, next));
		accepts(and(before, first, next));
	}

	@Test
	@DisplayName("8: A refusal with a false reason is refused")
	void reasons() {
		String asked = "10 ASKED by=a id=1 mode=EXCLUSIVE key=k user=u until=500";
		String other = "0 ASKED by=b id=2 mode=EXCLUSIVE key=k";
		refuses(8, asked, "100 REFUSED id=1 why=STORE");
		accepts(asked, "100 REFUSED id=1 why=STORE", "50 TROUBLE by=a until=60");
		refuses(8, asked, "100 REFUSED id=1 why=STORE", "50 TROUBLE by=b until=60");
		String full = "50 FULL by=a mode=READ key=k";
		accepts(asked, "100 REFUSED id=1 why=STORE", full);
		accepts("10 ASKED by=a id=1 mode=EXCLUSIVE key=l why=PART", "100 REFUSED id=1 why=STORE", full);
		refuses(8, "10 ASKED by=a id=1 mode=EXCLUSIVE key=l", "100 REFUSED id=1 why=STORE", full);
		refuses(8, asked, "100 REFUSED id=1 why=STORE", "50 FULL by=b mode=READ key=k");
		refuses(8, asked, "301 REFUSED id=1 why=STORE", full);
		refuses(8, asked, "40 REFUSED id=1 why=STORE", full);
		refuses(8, asked, "100 REFUSED id=1 why=INTERRUPTED");
		refuses(8, asked, "100 REFUSED id=1 why=SHUTDOWN");
		accepts(asked, "100 REFUSED id=1 why=SHUTDOWN", "50 SHUT_DOWN by=a");
		refuses(8, asked, "100 REFUSED id=1 why=SELF_BLOCKED");
		accepts(asked, "100 REFUSED id=1 why=SELF_BLOCKED", "0 ASKED by=a id=2 mode=READ key=k user=u",
				"5 GRANTED id=2 fence=1", "105 RELEASING id=2");
		refuses(8, asked, "100 REFUSED id=1 why=LOST");
		accepts(asked, "100 REFUSED id=1 why=LOST", "0 ASKED by=a id=2 mode=EXCLUSIVE key=k", "1 GRANTED id=2 until=5",
				"5 LOST id=2 until=5");
		String before = "0 ASKED by=a id=2 mode=EXCLUSIVE key=k";
		accepts(asked, "100 REFUSED id=1 why=LOST", before, "1 GRANTED id=2 until=200", "99 RELEASING id=2 until=99");
		refuses(8, asked, "100 REFUSED id=1 why=LOST", before, "1 GRANTED id=2 until=200", "99 RELEASING id=2");
		refuses(8, asked, "100 REFUSED id=1 why=NullPointerException");
		refuses(8, "0 ASKED by=a id=1 mode=PERMITS key=k permits=2 limit=3", "100 REFUSED id=1 why=EXCEEDS_LIMIT");
		accepts("0 ASKED by=a id=1 mode=PERMITS key=k permits=2 limit=3", "100 REFUSED id=1 why=EXCEEDS_LIMIT",
				"50 LIMIT key=k limit=1 until=51");
		refuses(8, other, asked, "1 GRANTED id=2", "90 REFUSED id=2 why=STORE", "100 REFUSED id=1 why=TIMED_OUT");
	}

	@Test
	@DisplayName("8: The store's trouble is not another owner")
	void timeOuts() {
		String asked = "2000 ASKED by=a id=1 mode=EXCLUSIVE key=k until=2500";
		String refused = "2500 REFUSED id=1 why=TIMED_OUT";
		String[] other = { "1900 ASKED by=b id=2 mode=EXCLUSIVE key=k", "1910 GRANTED id=2", "2600 RELEASING id=2" };
		refuses(8, asked, refused);
		refuses(8, asked, refused, "0 ASKED by=b id=2 mode=EXCLUSIVE key=k", "1 GRANTED id=2", "2 RELEASING id=2");
		accepts(and(other, asked, refused));
		refuses(8, and(other, asked, refused, "1950 OUTAGE by=a until=2500"));
		accepts(and(other, asked, refused, "1950 OUTAGE by=a until=2400"));
		accepts(and(other, asked, refused, "1950 OUTAGE by=b until=2500"));
	}

	@Test
	@DisplayName("8: A request that gave up may be granted at the end of an outage, and holds for a lease time")
	void timeOutsAfterAnOutage() {
		String[] after = { "0 ASKED by=b id=2 mode=EXCLUSIVE key=k lease=300", "5 REFUSED id=2 why=INTERRUPTED",
				"4 INTERRUPTED id=2", "2000 ASKED by=a id=1 mode=EXCLUSIVE key=k until=2500",
				"2500 REFUSED id=1 why=TIMED_OUT" };
		refuses(8, after);
		accepts(and(after, "3 OUTAGE by=b until=1500"));
		accepts(and(after, "3 TROUBLE by=b until=1500"));
		refuses(8, and(after, "3 TROUBLE by=b until=1400"));
		refuses(8, and(after, "3 OUTAGE by=b until=1400"));
		refuses(8, and(after, "3 OUTAGE by=a until=1500"));
		// It had given up before.
		refuses(8, and(after, "6 OUTAGE by=b until=1500"));
	}

	@Test
	@DisplayName("8: A lease that ended before its release and is reported as released is refused")
	void toldToBeReleased() {
		String[] held = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300", "10 GRANTED id=1 fence=64 until=300" };
		refuses(8, and(held, "400 RELEASING id=1 until=300", "401 RELEASED id=1 why=RELEASED"));
		refuses(8, and(held, "300 LOST id=1 until=300", "310 RELEASING id=1", "311 RELEASED id=1 why=RELEASED"));
		accepts(and(held, "400 RELEASING id=1 until=300", "401 RELEASED id=1 why=STORE"));
	}

	@Test
	@DisplayName("8: A lease that was held until its release and is reported as lost is refused")
	void toldToBeLost() {
		String[] held = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300", "10 GRANTED id=1 fence=64 until=300" };
		refuses(8, and(held, "100 RELEASING id=1", "101 RELEASED id=1 why=LOST"));
		accepts(and(held, "400 RELEASING id=1 until=300", "401 RELEASED id=1 why=LOST"));
		String[] late = and(held, "100 RELEASING id=1", "401 RELEASED id=1 why=LOST");
		refuses(8, late);
		accepts(and(late, "99 PAUSED by=a until=400"));
		refuses(8, and(late, "99 PAUSED by=b until=400"));
		refuses(8, and(held, "100 RELEASING id=1", "201 RELEASED id=1 why=LOST", "99 PAUSED by=a until=200"));
	}

}
