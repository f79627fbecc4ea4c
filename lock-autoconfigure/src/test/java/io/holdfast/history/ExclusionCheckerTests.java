package io.holdfast.history;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Judge of histories: holds beside excluded holds are refused, which is property 1.
 */
class ExclusionCheckerTests extends CheckerTestCase {

	ExclusionCheckerTests() {
		super(1);
	}

	@Test
	@DisplayName("1: A lease that begins before another's validity is over, or its release has begun, is refused")
	void overlap() {
		String first = "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300";
		String second = "5 ASKED by=b id=2 mode=EXCLUSIVE key=k lease=300";
		refuses(1, first, second, "10 GRANTED id=1 fence=1 until=300", "200 GRANTED id=2 fence=2 until=400",
				"210 RELEASING id=1", "300 RELEASING id=2");
		accepts(first, second, "10 GRANTED id=1 fence=1 until=150", "200 GRANTED id=2 fence=2 until=400",
				"210 RELEASING id=1 until=150", "300 RELEASING id=2");
		// A killed process writes no further events.
		refuses(1, first, second, "10 GRANTED id=1 fence=1 until=300", "20 CRASHED by=a",
				"200 GRANTED id=2 fence=2 until=400", "300 RELEASING id=2");
		accepts(first, second, "10 GRANTED id=1 fence=1 until=300", "20 CRASHED by=a",
				"300 GRANTED id=2 fence=2 until=400", "310 RELEASING id=2");
		refuses(1, first, second, "10 GRANTED id=1 fence=1 until=300", "20 RELEASING id=1", "21 RETAINED id=1 until=90",
				"80 GRANTED id=2 fence=2 until=400", "300 RELEASING id=2");
	}

	@Test
	@DisplayName("1: Readers may hold together, and none beside an exclusive owner")
	void readersAndOwners() {
		String reader = "0 ASKED by=a id=1 mode=READ key=k user=u";
		String writer = "5 ASKED by=a id=2 mode=EXCLUSIVE key=k user=v";
		String other = "7 ASKED by=b id=3 mode=READ key=k user=v";
		String end = "90 RELEASING id=1";
		accepts(reader, other, "10 GRANTED id=1 fence=1", "20 GRANTED id=3 fence=2", end, "91 RELEASING id=3");
		refuses(1, reader, writer, "10 GRANTED id=1 fence=1", "20 GRANTED id=2 fence=2", end, "91 RELEASING id=2");
		refuses(1, writer, other, "10 GRANTED id=2 fence=1", "20 GRANTED id=3 fence=2", "90 RELEASING id=2",
				"91 RELEASING id=3");
		refuses(1, "0 ASKED by=a id=1 mode=READ key=k user=v", writer, "10 GRANTED id=2 fence=1",
				"20 GRANTED id=1 fence=2", end, "91 RELEASING id=2");
		// A semaphore shares no keys with locks.
		accepts(reader, "5 ASKED by=a id=2 mode=PERMITS key=k permits=1 limit=1", "10 GRANTED id=1 fence=1",
				"20 GRANTED id=2 fence=2", end, "91 RELEASING id=2");
	}

	@Test
	@DisplayName("1: A nested lease in the hold of another user or key, or in an ended hold, is refused")
	void entered() {
		String[] outer = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k user=u lease=300",
				"10 GRANTED id=1 fence=1 until=300", "40 RELEASING id=1" };
		String in = "20 GRANTED id=2 fence=1 until=300 why=1";
		String end = "30 RELEASING id=2";
		accepts(and(outer, "15 ASKED by=a id=2 mode=EXCLUSIVE key=k user=u", in, end));
		refuses(1, and(outer, "15 ASKED by=a id=2 mode=EXCLUSIVE key=k user=v", in, end));
		refuses(1, and(outer, "15 ASKED by=a id=2 mode=EXCLUSIVE key=k", in, end));
		refuses(1, and(outer, "15 ASKED by=b id=2 mode=EXCLUSIVE key=k user=u", in, end));
		refuses(1, and(outer, "15 ASKED by=a id=2 mode=EXCLUSIVE key=j user=u", in, end));
		accepts(and(outer, "15 ASKED by=a id=2 mode=READ key=k user=u", in, end));
		refuses(1, "0 ASKED by=a id=1 mode=READ key=k user=u lease=300", "10 GRANTED id=1 fence=1 until=300",
				"40 RELEASING id=1", "15 ASKED by=a id=2 mode=EXCLUSIVE key=k user=u", in, end);
		refuses(1, and(outer, "45 ASKED by=a id=2 mode=EXCLUSIVE key=k user=u",
				"50 GRANTED id=2 fence=1 until=300 why=1", "60 RELEASING id=2"));
		accepts(and(outer, "15 ASKED by=a id=2 mode=EXCLUSIVE key=k user=u", in, "70 RELEASING id=2",
				"45 ASKED by=a id=3 mode=EXCLUSIVE key=k user=u", "50 GRANTED id=3 fence=1 until=300 why=1",
				"60 RELEASING id=3"));
	}

	@Test
	@DisplayName("1: Permits are added up")
	void permits() {
		String[] three = { "0 ASKED by=a id=1 mode=PERMITS key=k permits=2 limit=3 lease=300",
				"1 ASKED by=b id=2 mode=PERMITS key=k permits=2 limit=3 lease=300", "10 GRANTED id=1 until=300",
				"30 GRANTED id=2 until=300", "80 RELEASING id=1", "90 RELEASING id=2" };
		refuses(1, three);
		accepts(and(three, "0 LIMIT key=k limit=4 until=1"));
		accepts(and(three, "15 LIMIT key=k limit=4 until=16"));
		refuses(1, and(three, "31 LIMIT key=k limit=4 until=32"));
		refuses(1, and(three, "0 LIMIT key=k limit=4 until=0", "2 LIMIT key=k limit=3 until=3",
				"4 ASKED by=b id=3 mode=PERMITS key=k permits=1 limit=3", "35 GRANTED id=3", "40 RELEASING id=3"));
	}

	@Test
	@DisplayName("1: A removed lease may be followed by another once it is removed")
	void dataLost() {
		String[] both = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300",
				"5 ASKED by=b id=2 mode=EXCLUSIVE key=k lease=300", "10 GRANTED id=1 fence=1 until=300",
				"100 GRANTED id=2 fence=2 until=400", "120 RELEASING id=1", "130 RELEASING id=2" };
		refuses(1, both);
		accepts(and(both, "50 DATA_LOST"));
		accepts(and(both, "50 FORCED mode=EXCLUSIVE key=k"));
		refuses(1, and(both, "50 FORCED mode=EXCLUSIVE key=other"));
		refuses(1, and(both, "50 FORCED mode=PERMITS key=k"));
		refuses(1, and(both, "105 DATA_LOST"));
		String[] renewed = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=20", "1 GRANTED id=1 until=110",
				"10 RENEWAL by=a id=1 lease=100", "11 DATA_LOST", "40 ASKED by=b id=2 mode=EXCLUSIVE key=k lease=20",
				"41 GRANTED id=2 until=60", "50 RELEASING id=2" };
		accepts(and(renewed, "110 LOST id=1 until=110"));
	}

	@Test
	@DisplayName("1: A loss at an unknown moment in a period allows two grants in that period only")
	void lossWithinATime() {
		String[] two = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300", "10 GRANTED id=1 fence=64 until=300",
				"20 RELEASING id=1", "5 ASKED by=b id=2 mode=EXCLUSIVE key=k lease=300",
				"15 GRANTED id=2 fence=128 until=300", "25 RELEASING id=2" };
		refuses(1, two);
		accepts(and(two, "12 DATA_LOST key=k mode=EXCLUSIVE until=17"));
		refuses(1, and(two, "30 DATA_LOST key=k mode=EXCLUSIVE until=40"));
	}

	@Test
	@DisplayName("1: Leases on the same hold count once, until the last of them ends")
	void nested() {
		String[] nested = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k user=u", "10 GRANTED id=1 fence=1",
				"20 ASKED by=a id=2 mode=EXCLUSIVE key=k user=u", "20 GRANTED id=2 fence=1 why=1", "30 RELEASING id=1",
				"40 ASKED by=b id=3 mode=EXCLUSIVE key=k", "60 RELEASING id=2", "80 RELEASING id=3" };
		accepts(and(nested, "70 GRANTED id=3 fence=2"));
		refuses(1, and(nested, "50 GRANTED id=3 fence=2"));
	}

	@Test
	@DisplayName("1: A grant without a required confirmation is refused")
	void confirmations() {
		String[] held = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k", "10 GRANTED id=1 fence=1", "90 RELEASING id=1" };
		accepts(held);
		refuses(1, and(held, "0 CONFIRMING by=a"));
		accepts(and(held, "0 CONFIRMING by=b"));
		accepts(and(held, "0 CONFIRMING by=a", "10 CONFIRMED id=1"));
		refuses(1, and(held, "0 CONFIRMING by=a", "11 CONFIRMED id=1"));
		// A confirmed grant is not lost by a fail-over.
		String[] lost = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300", "10 CONFIRMED id=1",
				"10 GRANTED id=1 fence=1 until=300", "50 FAILED_OVER until=500", "60 LOST id=1 until=300" };
		accepts(lost);
		refuses(3, and(lost, "0 CONFIRMING by=a"));
		refuses(8, "0 ASKED by=a id=1 mode=EXCLUSIVE key=k", "10 REFUSED id=1 why=STORE");
		// A waiting request asks repeatedly for the confirmation.
		String unconfirmed = "9 UNCONFIRMED by=a";
		accepts("0 ASKED by=a id=1 mode=EXCLUSIVE key=k until=10", unconfirmed, "10 REFUSED id=1 why=STORE");
		accepts("0 ASKED by=a id=1 mode=EXCLUSIVE key=k until=20 why=NOT_WAITING", unconfirmed,
				"10 REFUSED id=1 why=STORE");
		refuses(8, "0 ASKED by=a id=1 mode=EXCLUSIVE key=k until=20", unconfirmed, "10 REFUSED id=1 why=STORE");
		refuses(8, "0 ASKED by=a id=1 mode=EXCLUSIVE key=k", unconfirmed, "10 REFUSED id=1 why=STORE");
	}

}
