package io.holdfast.history;

import io.holdfast.history.Event.Mode;
import io.holdfast.history.Event.Type;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Judge of histories: valid histories are accepted, violations of the properties 2 to 7
 * and 10 are refused.
 */
class CheckerTests extends CheckerTestCase {

	/** Two successive leases of different instances. */
	private static final String[] IN_TURN = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k until=500 lease=300",
			"5 ASKED by=b id=2 mode=EXCLUSIVE key=k until=505 lease=300", "10 GRANTED id=1 fence=64 until=310",
			"100 RENEWAL by=a id=1", "150 HELD id=1 until=400", "200 RELEASING id=1", "205 RELEASED id=1 why=RELEASED",
			"210 GRANTED id=2 fence=128 until=500", "220 RELEASING id=2", "230 RELEASED id=2 why=RELEASED",
			"240 FAULTS_OVER", "250 QUIET", "260 LEFT by=a why=holds" };

	CheckerTests() {
		super(1);
	}

	@Test
	@DisplayName("Text and events are the same")
	void text() {
		Event event = Event.of(7, Type.ASKED, "a")
			.id("1")
			.of(Mode.PERMITS, "k")
			.user("u")
			.permits(2, 3)
			.fence(4)
			.until(-1)
			.lease(6)
			.why("PART");
		String line = "7 ASKED by=a id=1 mode=PERMITS key=k user=u permits=2 limit=3 fence=4 until=-1 lease=6 why=PART";
		assertThat(event).hasToString(line);
		assertThat(Event.parse(line)).isEqualTo(event);
		assertThatIllegalArgumentException().isThrownBy(() -> Event.parse("7 ASKED colour=red"));
		assertThatIllegalArgumentException().isThrownBy(() -> check("7 GRANTED id=1")).withMessageContaining("id=1");
	}

	@Test
	@DisplayName("A valid history is accepted")
	void inTurn() {
		accepts(IN_TURN);
	}

	// 2

	@Test
	@DisplayName("2: A fence that does not grow is refused")
	void fences() {
		String[] one = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k", "10 GRANTED id=1 fence=64", "30 RELEASING id=1",
				"11 ASKED by=b id=2 mode=EXCLUSIVE key=k", "60 RELEASING id=2" };
		refuses(2, and(one, "50 GRANTED id=2 fence=64"));
		refuses(2, and(one, "50 GRANTED id=2 fence=63"));
		refuses(2, and(one, "50 GRANTED id=2 fence=63", "40 DATA_LOST"));
		accepts(and(one, "50 GRANTED id=2 fence=65"));
		accepts(and(one, "50 GRANTED id=2"));
		// The user stood still, and saw the grant after its end.
		String[] late = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k", "10 GRANTED id=1 fence=64", "30 RELEASING id=1",
				"5 ASKED by=b id=2 mode=EXCLUSIVE key=k", "60 RELEASING id=2" };
		accepts(and(late, "50 GRANTED id=2 fence=63 until=50"));
		refuses(2, and(late, "50 GRANTED id=2 fence=63 until=51"));
		refuses(2, and(one, "50 GRANTED id=2 fence=63 until=50"));
		// Any of the simultaneous readers may see its fence first.
		String[] readers = { "0 ASKED by=a id=1 mode=READ key=k", "3 ASKED by=b id=2 mode=READ key=k",
				"10 GRANTED id=1 fence=5", "20 GRANTED id=2 fence=4", "30 RELEASING id=1", "31 RELEASING id=2" };
		accepts(readers);
		refuses(2, and(readers, "25 ASKED by=b id=3 mode=READ key=k", "26 GRANTED id=3 fence=5", "27 RELEASING id=3"));
	}

	// 3

	@Test
	@DisplayName("3: A lease that ends before its time without a cause is refused: a stale command ended it")
	void lostWithoutCause() {
		String[] lost = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300", "10 GRANTED id=1 fence=64 until=300" };
		refuses(3, and(lost, "100 LOST id=1 until=300"));
		accepts(and(lost, "300 LOST id=1 until=300"));
		accepts(and(lost, "100 LOST id=1 until=300", "50 FORCED mode=EXCLUSIVE key=k"));
		refuses(3, and(lost, "100 LOST id=1 until=300", "150 FORCED mode=EXCLUSIVE key=k"));
		String[] passedOn = { "20 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300", "30 GRANTED id=1 fence=64 until=300",
				"10 FORCED mode=EXCLUSIVE key=k", "100 LOST id=1 until=300" };
		refuses(3, and(passedOn, "30 PASSED_ON by=a id=1 until=11"));
		accepts(and(passedOn, "30 PASSED_ON by=a id=1 until=10"));
		accepts(and(lost, "100 LOST id=1 until=300", "90 SHUT_DOWN by=a"));
		refuses(3, and(lost, "100 LOST id=1 until=300", "90 SHUT_DOWN by=b"));
		// Half of its lease is enough to try again.
		refuses(3, and(lost, "300 LOST id=1 until=300 why=RENEWED", "90 TROUBLE by=a until=149"));
		accepts(and(lost, "300 LOST id=1 until=300 why=RENEWED", "90 TROUBLE by=a until=150"));
		accepts(and(lost, "300 LOST id=1 until=300 why=RENEWED", "90 PAUSED by=a until=200"));
	}

	@Test
	@DisplayName("3: An ended lease is held no more, ends once, and does not live on after its removal")
	void overIsOver() {
		refuses(3, and(IN_TURN, "221 HELD id=2 until=600"));
		refuses(3, and(IN_TURN, "231 RELEASED id=2 why=RELEASED"));
		accepts(and(IN_TURN, "231 RELEASED id=2 why=ALREADY_RELEASED"));
		refuses(3, and(IN_TURN, "300 REPEATED id=1 why=owner:none->1"));
		accepts(and(IN_TURN, "300 REPEATED id=1"));
		refuses(3, "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300", "10 GRANTED id=1 fence=64 until=300",
				"20 DATA_LOST", "400 RELEASING id=1", "401 RELEASED id=1 why=RELEASED");
		accepts("0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300", "10 GRANTED id=1 fence=64 until=300",
				"20 DATA_LOST", "21 GRANTED_AGAIN id=1", "400 RELEASING id=1", "401 RELEASED id=1 why=RELEASED");
	}

	@Test
	@DisplayName("3: A removed lease is not held on, and a lease whose removal is uncertain may be")
	void takenAway() {
		String[] on = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=100", "10 GRANTED id=1 fence=1 until=100",
				"90 HELD id=1 until=190", "180 HELD id=1 until=400", "390 RELEASING id=1" };
		accepts(on);
		refuses(3, and(on, "50 FORCED mode=EXCLUSIVE key=k"));
		refuses(3, and(on, "50 FORCED id=1 mode=EXCLUSIVE key=k"));
		accepts(and(on, "50 FORCED id=unknown mode=EXCLUSIVE key=k"));
		// The holder takes it back if it does not know of the removal.
		accepts(and(on, "50 FORCED mode=EXCLUSIVE key=k", "60 FAILED_OVER until=300"));
		accepts(and(on, "50 FORCED mode=EXCLUSIVE key=k", "45 RENEWAL by=a id=1 lease=345"));
		refuses(3, and(on, "50 FORCED mode=EXCLUSIVE key=k", "45 RENEWAL by=a id=1 lease=344"));
		refuses(3, and(on, "50 FORCED mode=EXCLUSIVE key=k", "55 RENEWAL by=a id=1 lease=345"));
		refuses(3, and(on, "50 FORCED mode=EXCLUSIVE key=k", "40 FAILED_OVER until=45"));
		refuses(3, and(on, "50 FORCED mode=EXCLUSIVE key=k", "151 FAILED_OVER until=300"));
	}

	// 4

	@Test
	@DisplayName("4: Entries without an end, or without a request in quiet, are refused")
	void stored() {
		refuses(4, and(IN_TURN, "100 STORED mode=EXCLUSIVE key=k why=OWNER until=-1"));
		accepts(and(IN_TURN, "100 STORED mode=PERMITS key=k why=LIMIT until=-1"));
		accepts(and(IN_TURN, "100 STORED mode=EXCLUSIVE key=k why=HELD permits=1 until=300"));
		refuses(4, and(IN_TURN, "260 STORED mode=EXCLUSIVE key=k why=HELD permits=1 until=300"));
		refuses(4, and(IN_TURN, "260 STORED mode=EXCLUSIVE key=k why=WAITING permits=1 until=300"));
		accepts(and(IN_TURN, "260 STORED mode=EXCLUSIVE key=k why=FENCE until=300"));
		String[] held = { "0 ASKED by=a id=1 mode=PERMITS key=k permits=2 limit=3 lease=300",
				"10 GRANTED id=1 until=310", "20 QUIET" };
		accepts(and(held, "30 STORED mode=PERMITS key=k why=HELD permits=2 until=310"));
		refuses(4, and(held, "30 STORED mode=PERMITS key=k why=HELD permits=3 until=310"));
	}

	@Test
	@DisplayName("4: Entries for an instance that has forgotten them are refused, unless something went wrong")
	void forgotten() {
		String forgotten = "700 FORGOTTEN by=a mode=EXCLUSIVE key=k until=500";
		refuses(4, forgotten);
		accepts(forgotten, "400 TROUBLE by=a until=400");
		refuses(4, forgotten, "100 TROUBLE by=a until=200", "600 TROUBLE by=b until=650");
		accepts(forgotten, "50 FAILED_OVER until=100");
	}

	@Test
	@DisplayName("An unexpected observation is refused")
	void unexpected() {
		refuses(3, "10 UNEXPECTED by=a permits=3 why=unlocked");
	}

	// 5

	@Test
	@DisplayName("5: A wait that ends late is refused, unless its process stood still in that time")
	void lateAnswer() {
		String request = "0 ASKED by=a id=1 mode=EXCLUSIVE key=k until=500";
		String trouble = "0 TROUBLE by=a until=2000";
		accepts(request, "750 REFUSED id=1 why=STORE", trouble);
		refuses(5, request, "751 REFUSED id=1 why=STORE", trouble);
		accepts(request, "900 REFUSED id=1 why=STORE", trouble, "300 PAUSED by=a until=450");
		refuses(5, request, "901 REFUSED id=1 why=STORE", trouble, "300 PAUSED by=a until=450");
		refuses(5, request, "900 REFUSED id=1 why=STORE", trouble, "300 PAUSED by=b until=450");
		refuses(5, request, "760 FAULTS_OVER");
		accepts(request, "740 FAULTS_OVER");
		accepts(request, "100 CRASHED by=a", "800 QUIET");
		refuses(5, "0 ASKED by=a id=1 mode=EXCLUSIVE key=k", "800 QUIET");
	}

	@Test
	@DisplayName("5: An interrupt that ends no wait is refused")
	void interrupt() {
		String request = "0 ASKED by=a id=1 mode=EXCLUSIVE key=k";
		accepts(request, "100 INTERRUPTED id=1", "350 REFUSED id=1 why=INTERRUPTED");
		refuses(5, request, "100 INTERRUPTED id=1", "351 REFUSED id=1 why=INTERRUPTED");
	}

	// 6

	@Test
	@DisplayName("6: A wait for a free resource is refused, once the faults are over")
	void progress() {
		String[] waits = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300", "10 GRANTED id=1 fence=64 until=310",
				"100 RELEASING id=1", "50 ASKED by=b id=2 mode=EXCLUSIVE key=k lease=300" };
		// A lease, a poll and the slack are 650.
		accepts(and(waits, "20 FAULTS_OVER", "750 GRANTED id=2 fence=65", "760 RELEASING id=2"));
		refuses(6, and(waits, "20 FAULTS_OVER", "751 GRANTED id=2 fence=65", "760 RELEASING id=2"));
		accepts(and(waits, "200 FAULTS_OVER", "751 GRANTED id=2 fence=65", "760 RELEASING id=2"));
		accepts(and(waits, "751 GRANTED id=2 fence=65", "760 RELEASING id=2"));
		accepts(and(waits, "20 FAULTS_OVER", "20 OUTAGE by=b until=105", "755 GRANTED id=2 fence=65",
				"760 RELEASING id=2"));
		// Another lease in between.
		accepts(and(waits, "20 FAULTS_OVER", "751 GRANTED id=2 fence=66", "760 RELEASING id=2",
				"200 ASKED by=a id=3 mode=EXCLUSIVE key=k", "300 GRANTED id=3 fence=65", "310 RELEASING id=3"));
		// A request for several keys may have the key.
		accepts(and(waits, "20 FAULTS_OVER", "751 GRANTED id=2 fence=66", "760 RELEASING id=2",
				"200 ASKED by=a id=3 mode=EXCLUSIVE key=k why=PART", "310 REFUSED id=3 why=TIMED_OUT"));
	}

	@Test
	@DisplayName("6: Permits are not free for a request that exceeds the rest")
	void progressOfPermits() {
		String[] waits = { "0 FAULTS_OVER", "0 ASKED by=a id=1 mode=PERMITS key=k permits=2 limit=3 lease=3000",
				"10 GRANTED id=1 until=3010", "50 ASKED by=b id=2 mode=PERMITS key=k permits=2 limit=3 lease=300",
				"5000 RELEASING id=1", "5001 GRANTED id=2", "5002 RELEASING id=2" };
		accepts(waits);
		refuses(6, and(waits, "60 ASKED by=b id=3 mode=PERMITS key=j permits=1 limit=3 lease=300", "1000 GRANTED id=3",
				"1001 RELEASING id=3"));
	}

	// 7

	@Test
	@DisplayName("7: A renewal of an ended lease, and leftovers at the end, are refused")
	void renewals() {
		refuses(7, and(IN_TURN, "201 RENEWAL by=a id=1"));
		accepts(and(IN_TURN, "200 RENEWAL by=a id=1"));
		refuses(7, and(IN_TURN, "201 RENEWAL by=a id=none"));
		String passedOn = "209 PASSED_ON by=b id=2 why=1";
		accepts(and(and(IN_TURN, passedOn), "209 RENEWAL by=a id=1"));
		refuses(7, and(and(IN_TURN, passedOn), "208 RENEWAL by=a id=1"));
		refuses(7, and(IN_TURN, "261 LEFT by=a why=subscriptions permits=1"));
	}

	// 3

	@Test
	@DisplayName("3: A lease that is held, or passed on, after its instance knows of its forced release is refused")
	void forced() {
		String[] one = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300", "10 GRANTED id=1 fence=64",
				"15 FORCED mode=EXCLUSIVE key=k id=1", "20 ENDED by=a id=1" };
		accepts(and(one, "20 LOST id=1"));
		refuses(3, and(one, "30 RELEASING id=1"));
		String[] next = { "5 ASKED by=a id=2 mode=EXCLUSIVE key=k lease=300", "18 RELEASING id=1" };
		accepts(and(one, and(next, "18 PASSED_ON id=2 why=1", "18 GRANTED id=2 fence=65", "20 LOST id=2")));
		refuses(3, and(one, and(next, "22 PASSED_ON id=2 why=1", "22 GRANTED id=2 fence=65", "40 RELEASING id=2")));
		accepts(and(one, and(next, "22 GRANTED id=2 fence=200", "40 RELEASING id=2")));
	}

	// 10

	@Test
	@DisplayName("10: A fair request that is granted before an earlier equal request is refused")
	void order() {
		String[] two = { "0 ASKED by=a id=1 mode=PERMITS key=k permits=1 limit=3 lease=300",
				"1 ASKED by=a id=2 mode=PERMITS key=k permits=1 limit=3 lease=300", "40 GRANTED id=1",
				"50 RELEASING id=1", "20 GRANTED id=2", "50 RELEASING id=2" };
		String[] here = { "0 IN_TURN by=a id=1 why=HERE", "1 IN_TURN by=a id=2 why=HERE" };
		refuses(10, and(two, here));
		refuses(10, and(two, and(here, "10 OUTAGE by=a until=30")));
		accepts(two);
		accepts(and(two, here[0]));
		accepts(and(two, here[0], "1 IN_TURN by=a id=2 why=STORE"));
		String[] store = { "0 IN_TURN by=a id=1 why=STORE", "1 IN_TURN by=a id=2 why=STORE" };
		refuses(10, and(two, store));
		refuses(10, and(two, and(store, "10 OUTAGE by=b until=30")));
		for (String excuse : new String[] { "TROUBLE by=a", "OUTAGE by=a", "PAUSED by=a", "DEAF by=a", "FULL by=a",
				"FAILED_OVER", "DATA_LOST", "LIMIT key=k limit=3" }) {
			accepts(and(two, and(store, "10 " + excuse)));
		}
		accepts(and(two, and(store, "10 CONFIRMING by=a", "15 CONFIRMED id=2", "35 CONFIRMED id=1")));
		String[] otherTerms = { "0 ASKED by=a id=1 mode=PERMITS key=k permits=2 limit=3 lease=300",
				"1 ASKED by=a id=2 mode=PERMITS key=k permits=1 limit=3 lease=300", "40 GRANTED id=1",
				"50 RELEASING id=1", "20 GRANTED id=2", "50 RELEASING id=2" };
		accepts(and(otherTerms, here));
		String[] exclusive = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=200",
				"1 ASKED by=a id=2 mode=EXCLUSIVE key=k lease=300", "40 GRANTED id=1 fence=128", "50 RELEASING id=1",
				"20 GRANTED id=2 fence=64", "30 RELEASING id=2" };
		refuses(10, and(exclusive, here));
		String[] gaveUp = { two[0], two[1], "40 REFUSED id=1 why=TIMED_OUT", two[4], two[5] };
		accepts(and(gaveUp, here));
	}

}
