package io.holdfast.history;

import java.util.List;
import java.util.stream.Stream;

import io.holdfast.history.Event.Mode;
import io.holdfast.history.Event.Type;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * The judge of histories refuses what must not happen, and nothing else.
 */
class CheckerTests {

	private static final long SLACK = 250;

	private static final long POLL = 100;

	/** Two after one another, by different instances. */
	private static final String[] IN_TURN = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k until=500 lease=300",
			"5 ASKED by=b id=2 mode=EXCLUSIVE key=k until=505 lease=300", "10 GRANTED id=1 fence=64 until=310",
			"100 RENEWAL by=a id=1", "150 HELD id=1 until=400", "200 RELEASING id=1", "205 RELEASED id=1 why=RELEASED",
			"210 GRANTED id=2 fence=128 until=500", "220 RELEASING id=2", "230 RELEASED id=2 why=RELEASED",
			"240 FAULTS_OVER", "250 QUIET", "260 LEFT by=a why=holds" };

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
	@DisplayName("What is in order is accepted")
	void inTurn() {
		accepts(IN_TURN);
	}

	// 1

	@Test
	@DisplayName("1: a lease that begins before another's validity is over, or its release has begun, is refused")
	void overlap() {
		String first = "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300";
		String second = "5 ASKED by=b id=2 mode=EXCLUSIVE key=k lease=300";
		refuses(1, first, second, "10 GRANTED id=1 fence=1 until=300", "200 GRANTED id=2 fence=2 until=400",
				"210 RELEASING id=1", "300 RELEASING id=2");
		accepts(first, second, "10 GRANTED id=1 fence=1 until=150", "200 GRANTED id=2 fence=2 until=400",
				"210 RELEASING id=1 until=150", "300 RELEASING id=2");
		// A process that was killed tells no more than it has.
		refuses(1, first, second, "10 GRANTED id=1 fence=1 until=300", "20 CRASHED by=a",
				"200 GRANTED id=2 fence=2 until=400", "300 RELEASING id=2");
		accepts(first, second, "10 GRANTED id=1 fence=1 until=300", "20 CRASHED by=a",
				"300 GRANTED id=2 fence=2 until=400", "310 RELEASING id=2");
		refuses(1, first, second, "10 GRANTED id=1 fence=1 until=300", "20 RELEASING id=1", "21 RETAINED id=1 until=90",
				"80 GRANTED id=2 fence=2 until=400", "300 RELEASING id=2");
	}

	@Test
	@DisplayName("1: readers may hold together, and who writes may read; no other may beside a writer")
	void readersAndWriters() {
		String reader = "0 ASKED by=a id=1 mode=READ key=k user=u";
		String writer = "5 ASKED by=a id=2 mode=WRITE key=k user=v";
		String other = "7 ASKED by=b id=3 mode=READ key=k user=v";
		String end = "90 RELEASING id=1";
		accepts(reader, other, "10 GRANTED id=1 fence=1", "20 GRANTED id=3 fence=2", end, "91 RELEASING id=3");
		refuses(1, reader, writer, "10 GRANTED id=1 fence=1", "20 GRANTED id=2 fence=2", end, "91 RELEASING id=2");
		accepts("0 ASKED by=a id=1 mode=READ key=k user=v", writer, "10 GRANTED id=2 fence=1",
				"20 GRANTED id=1 fence=2", end, "91 RELEASING id=2");
		refuses(1, writer, other, "10 GRANTED id=2 fence=1", "20 GRANTED id=3 fence=2", "90 RELEASING id=2",
				"91 RELEASING id=3");
		// Another mode of the same key, and a semaphore, which shares no keys with locks.
		refuses(1, reader, "5 ASKED by=a id=2 mode=EXCLUSIVE key=k", "10 GRANTED id=1 fence=1",
				"20 GRANTED id=2 fence=2", end, "91 RELEASING id=2");
		accepts(reader, "5 ASKED by=a id=2 mode=PERMITS key=k permits=1 limit=1", "10 GRANTED id=1 fence=1",
				"20 GRANTED id=2 fence=2", end, "91 RELEASING id=2");
	}

	@Test
	@DisplayName("1: who enters what another user has, or another key, or what is over, is refused")
	void entered() {
		String[] outer = { "0 ASKED by=a id=1 mode=WRITE key=k user=u lease=300", "10 GRANTED id=1 fence=1 until=300",
				"40 RELEASING id=1" };
		String in = "20 GRANTED id=2 fence=1 until=300 why=1";
		String end = "30 RELEASING id=2";
		accepts(and(outer, "15 ASKED by=a id=2 mode=WRITE key=k user=u", in, end));
		refuses(1, and(outer, "15 ASKED by=a id=2 mode=WRITE key=k user=v", in, end));
		refuses(1, and(outer, "15 ASKED by=a id=2 mode=WRITE key=k", in, end));
		refuses(1, and(outer, "15 ASKED by=b id=2 mode=WRITE key=k user=u", in, end));
		refuses(1, and(outer, "15 ASKED by=a id=2 mode=WRITE key=j user=u", in, end));
		refuses(1, and(outer, "15 ASKED by=a id=2 mode=READ key=k user=u", in, end));
		refuses(1, and(outer, "45 ASKED by=a id=2 mode=WRITE key=k user=u", "50 GRANTED id=2 fence=1 until=300 why=1",
				"60 RELEASING id=2"));
		accepts(and(outer, "15 ASKED by=a id=2 mode=WRITE key=k user=u", in, "70 RELEASING id=2",
				"45 ASKED by=a id=3 mode=WRITE key=k user=u", "50 GRANTED id=3 fence=1 until=300 why=1",
				"60 RELEASING id=3"));
	}

	@Test
	@DisplayName("1: permits are added up, and some may be given back")
	void permits() {
		String[] three = { "0 ASKED by=a id=1 mode=PERMITS key=k permits=2 limit=3 lease=300",
				"1 ASKED by=b id=2 mode=PERMITS key=k permits=2 limit=3 lease=300", "10 GRANTED id=1 until=300",
				"30 GRANTED id=2 until=300", "80 RELEASING id=1", "90 RELEASING id=2" };
		refuses(1, three);
		accepts(and(three, "20 SHRUNK id=1 permits=1"));
		refuses(1, and(three, "31 SHRUNK id=1 permits=1"));
		accepts(and(three, "0 LIMIT key=k limit=4 until=1"));
		accepts(and(three, "15 LIMIT key=k limit=4 until=16"));
		refuses(1, and(three, "31 LIMIT key=k limit=4 until=32"));
		refuses(1, and(three, "0 LIMIT key=k limit=4 until=0", "2 LIMIT key=k limit=3 until=3",
				"4 ASKED by=b id=3 mode=PERMITS key=k permits=1 limit=3", "35 GRANTED id=3", "40 RELEASING id=3"));
	}

	@Test
	@DisplayName("1: what was taken away may be had by others, once it was")
	void dataLost() {
		String[] both = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300",
				"5 ASKED by=b id=2 mode=EXCLUSIVE key=k lease=300", "10 GRANTED id=1 fence=1 until=300",
				"100 GRANTED id=2 fence=2 until=400", "120 RELEASING id=1", "130 RELEASING id=2" };
		refuses(1, both);
		accepts(and(both, "50 DATA_LOST"));
		accepts(and(both, "50 FORCED mode=WRITE key=k"));
		refuses(1, and(both, "50 FORCED mode=EXCLUSIVE key=other"));
		refuses(1, and(both, "50 FORCED mode=PERMITS key=k"));
		refuses(1, and(both, "105 DATA_LOST"));
		String[] renewed = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=20", "1 GRANTED id=1 until=110",
				"10 RENEWAL by=a id=1 lease=100", "11 DATA_LOST", "40 ASKED by=b id=2 mode=EXCLUSIVE key=k lease=20",
				"41 GRANTED id=2 until=60", "50 RELEASING id=2" };
		accepts(and(renewed, "110 LOST id=1 until=110"));
	}

	@Test
	@DisplayName("1: leases on one hold count once, until the last of them ends")
	void nested() {
		String[] nested = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k user=u", "10 GRANTED id=1 fence=1",
				"20 ASKED by=a id=2 mode=EXCLUSIVE key=k user=u", "20 GRANTED id=2 fence=1 why=1", "30 RELEASING id=1",
				"40 ASKED by=b id=3 mode=EXCLUSIVE key=k", "60 RELEASING id=2", "80 RELEASING id=3" };
		accepts(and(nested, "70 GRANTED id=3 fence=2"));
		refuses(1, and(nested, "50 GRANTED id=3 fence=2"));
	}

	@Test
	@DisplayName("1: where grants are to be confirmed, one that is not is refused")
	void confirmations() {
		String[] held = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k", "10 GRANTED id=1 fence=1", "90 RELEASING id=1" };
		accepts(held);
		refuses(1, and(held, "0 CONFIRMING by=a"));
		accepts(and(held, "0 CONFIRMING by=b"));
		accepts(and(held, "0 CONFIRMING by=a", "10 CONFIRMED id=1"));
		refuses(1, and(held, "0 CONFIRMING by=a", "11 CONFIRMED id=1"));
		// What is confirmed is not lost by a fail-over.
		String[] lost = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300", "10 CONFIRMED id=1",
				"10 GRANTED id=1 fence=1 until=300", "50 FAILED_OVER until=500", "60 LOST id=1 until=300" };
		accepts(lost);
		refuses(3, and(lost, "0 CONFIRMING by=a"));
		refuses(8, "0 ASKED by=a id=1 mode=EXCLUSIVE key=k", "10 REFUSED id=1 why=STORE");
		// It is asked for again for as long as a request waits.
		String unconfirmed = "9 UNCONFIRMED by=a";
		accepts("0 ASKED by=a id=1 mode=EXCLUSIVE key=k until=10", unconfirmed, "10 REFUSED id=1 why=STORE");
		accepts("0 ASKED by=a id=1 mode=EXCLUSIVE key=k until=20 why=NOT_WAITING", unconfirmed,
				"10 REFUSED id=1 why=STORE");
		refuses(8, "0 ASKED by=a id=1 mode=EXCLUSIVE key=k until=20", unconfirmed, "10 REFUSED id=1 why=STORE");
		refuses(8, "0 ASKED by=a id=1 mode=EXCLUSIVE key=k", unconfirmed, "10 REFUSED id=1 why=STORE");
	}

	// 2

	@Test
	@DisplayName("2: a fence that does not grow is refused")
	void fences() {
		String[] one = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k", "10 GRANTED id=1 fence=64", "30 RELEASING id=1",
				"11 ASKED by=b id=2 mode=EXCLUSIVE key=k", "60 RELEASING id=2" };
		refuses(2, and(one, "50 GRANTED id=2 fence=64"));
		refuses(2, and(one, "50 GRANTED id=2 fence=63"));
		refuses(2, and(one, "50 GRANTED id=2 fence=63", "40 DATA_LOST"));
		accepts(and(one, "50 GRANTED id=2 fence=65"));
		accepts(and(one, "50 GRANTED id=2"));
		// Its user stood still, and learned of it when it was over.
		String[] late = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k", "10 GRANTED id=1 fence=64", "30 RELEASING id=1",
				"5 ASKED by=b id=2 mode=EXCLUSIVE key=k", "60 RELEASING id=2" };
		accepts(and(late, "50 GRANTED id=2 fence=63 until=50"));
		refuses(2, and(late, "50 GRANTED id=2 fence=63 until=51"));
		refuses(2, and(one, "50 GRANTED id=2 fence=63 until=50"));
		// Of readers that ask at the same time, any may learn of its fence first.
		String[] readers = { "0 ASKED by=a id=1 mode=READ key=k", "3 ASKED by=b id=2 mode=READ key=k",
				"10 GRANTED id=1 fence=5", "20 GRANTED id=2 fence=4", "30 RELEASING id=1", "31 RELEASING id=2" };
		accepts(readers);
		refuses(2, and(readers, "25 ASKED by=b id=3 mode=READ key=k", "26 GRANTED id=3 fence=5", "27 RELEASING id=3"));
	}

	// 3

	@Test
	@DisplayName("3: a lease that ends before its time without a cause is refused: something that was over ended it")
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
	@DisplayName("3: what is over is held no more, ends once, and does not live on where it was taken away")
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
	@DisplayName("3: what was taken away is not held on, and what was not may be")
	void takenAway() {
		String[] on = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=100", "10 GRANTED id=1 fence=1 until=100",
				"90 HELD id=1 until=190", "180 HELD id=1 until=400", "390 RELEASING id=1" };
		accepts(on);
		refuses(3, and(on, "50 FORCED mode=EXCLUSIVE key=k"));
		refuses(3, and(on, "50 FORCED id=1 mode=EXCLUSIVE key=k"));
		accepts(and(on, "50 FORCED id=unknown mode=EXCLUSIVE key=k"));
		// It is taken back where that is not known.
		accepts(and(on, "50 FORCED mode=EXCLUSIVE key=k", "60 FAILED_OVER until=300"));
		accepts(and(on, "50 FORCED mode=EXCLUSIVE key=k", "45 RENEWAL by=a id=1 lease=345"));
		refuses(3, and(on, "50 FORCED mode=EXCLUSIVE key=k", "45 RENEWAL by=a id=1 lease=344"));
		refuses(3, and(on, "50 FORCED mode=EXCLUSIVE key=k", "55 RENEWAL by=a id=1 lease=345"));
		refuses(3, and(on, "50 FORCED mode=EXCLUSIVE key=k", "40 FAILED_OVER until=45"));
		refuses(3, and(on, "50 FORCED mode=EXCLUSIVE key=k", "151 FAILED_OVER until=300"));
	}

	// 4

	@Test
	@DisplayName("4: what is stored without an end, or for no request when all is quiet, is refused")
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
	@DisplayName("4: what the store keeps for who knows nothing of it is refused, unless something went wrong")
	void forgotten() {
		String forgotten = "700 FORGOTTEN by=a mode=EXCLUSIVE key=k until=500";
		refuses(4, forgotten);
		accepts(forgotten, "400 TROUBLE by=a until=400");
		refuses(4, forgotten, "100 TROUBLE by=a until=200", "600 TROUBLE by=b until=650");
		accepts(forgotten, "50 FAILED_OVER until=100");
	}

	@Test
	@DisplayName("What was seen that must not be is refused")
	void unexpected() {
		refuses(3, "10 UNEXPECTED by=a permits=3 why=unlocked");
	}

	// 5

	@Test
	@DisplayName("5: a wait that ends late is refused, unless its process stood still in that time")
	void lateAnswer() {
		String asked = "0 ASKED by=a id=1 mode=EXCLUSIVE key=k until=500";
		String trouble = "0 TROUBLE by=a until=2000";
		accepts(asked, "750 REFUSED id=1 why=STORE", trouble);
		refuses(5, asked, "751 REFUSED id=1 why=STORE", trouble);
		accepts(asked, "900 REFUSED id=1 why=STORE", trouble, "300 PAUSED by=a until=450");
		refuses(5, asked, "901 REFUSED id=1 why=STORE", trouble, "300 PAUSED by=a until=450");
		refuses(5, asked, "900 REFUSED id=1 why=STORE", trouble, "300 PAUSED by=b until=450");
		refuses(5, asked, "760 FAULTS_OVER");
		accepts(asked, "740 FAULTS_OVER");
		accepts(asked, "100 CRASHED by=a", "800 QUIET");
		refuses(5, "0 ASKED by=a id=1 mode=EXCLUSIVE key=k", "800 QUIET");
	}

	@Test
	@DisplayName("5: an interrupt that ends no wait is refused")
	void interrupt() {
		String asked = "0 ASKED by=a id=1 mode=EXCLUSIVE key=k";
		accepts(asked, "100 INTERRUPTED id=1", "350 REFUSED id=1 why=INTERRUPTED");
		refuses(5, asked, "100 INTERRUPTED id=1", "351 REFUSED id=1 why=INTERRUPTED");
	}

	// 6

	@Test
	@DisplayName("6: a wait for what is free is refused, when the faults are over")
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
		// Others had it in between.
		accepts(and(waits, "20 FAULTS_OVER", "751 GRANTED id=2 fence=66", "760 RELEASING id=2",
				"200 ASKED by=a id=3 mode=EXCLUSIVE key=k", "300 GRANTED id=3 fence=65", "310 RELEASING id=3"));
		// One that waits for other keys, too, may have it.
		accepts(and(waits, "20 FAULTS_OVER", "751 GRANTED id=2 fence=66", "760 RELEASING id=2",
				"200 ASKED by=a id=3 mode=EXCLUSIVE key=k why=PART", "310 REFUSED id=3 why=TIMED_OUT"));
	}

	@Test
	@DisplayName("6: permits are not free for who wants more than are left")
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
	@DisplayName("7: a renewal of what is over, and what is left by the end, is refused")
	void renewals() {
		refuses(7, and(IN_TURN, "201 RENEWAL by=a id=1"));
		accepts(and(IN_TURN, "200 RENEWAL by=a id=1"));
		refuses(7, and(IN_TURN, "201 RENEWAL by=a id=none"));
		String passedOn = "209 PASSED_ON by=b id=2 why=1";
		accepts(and(and(IN_TURN, passedOn), "209 RENEWAL by=a id=1"));
		refuses(7, and(and(IN_TURN, passedOn), "208 RENEWAL by=a id=1"));
		refuses(7, and(IN_TURN, "261 LEFT by=a why=subscriptions permits=1"));
	}

	// 8

	@Test
	@DisplayName("8: a limit that was set before the last one may be back when another server took over")
	void limitsOfAnotherServer() {
		String before = "0 LIMIT key=k limit=1 until=1";
		String after = "2 LIMIT key=k limit=-1 until=3";
		String asked = "50 ASKED by=a id=1 mode=PERMITS key=k permits=2 limit=3";
		String refused = "60 REFUSED id=1 why=EXCEEDS_LIMIT";
		refuses(8, before, after, asked, refused);
		// What was set last may be gone with the server.
		accepts(before, after, "5 FAILED_OVER until=90", asked, refused);
		refuses(8, before, after, "5 FAILED_OVER until=90", "7 LIMIT key=k limit=-1 until=8", asked, refused);
	}

	@Test
	@DisplayName("8: what comes late out of one trouble may meet the next, and be stored after that")
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
	@DisplayName("8: a refusal for a reason that was not is refused")
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
	@DisplayName("8: the store's trouble is not another owner")
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
	@DisplayName("8: who gave up may be granted it at the end of an outage, and has it for a lease")
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
	@DisplayName("8: over before its release, and told to be released, is refused")
	void toldToBeReleased() {
		String[] held = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300", "10 GRANTED id=1 fence=64 until=300" };
		refuses(8, and(held, "400 RELEASING id=1 until=300", "401 RELEASED id=1 why=RELEASED"));
		refuses(8, and(held, "300 LOST id=1 until=300", "310 RELEASING id=1", "311 RELEASED id=1 why=RELEASED"));
		accepts(and(held, "400 RELEASING id=1 until=300", "401 RELEASED id=1 why=STORE"));
	}

	@Test
	@DisplayName("8: held until its release, and told to be lost, is refused")
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

	@Test
	@DisplayName("1: what is lost at an unknown moment within a time may be granted twice only then")
	void lossWithinATime() {
		String[] two = { "0 ASKED by=a id=1 mode=EXCLUSIVE key=k lease=300", "10 GRANTED id=1 fence=64 until=300",
				"20 RELEASING id=1", "5 ASKED by=b id=2 mode=EXCLUSIVE key=k lease=300",
				"15 GRANTED id=2 fence=128 until=300", "25 RELEASING id=2" };
		refuses(1, two);
		accepts(and(two, "12 DATA_LOST key=k mode=EXCLUSIVE until=17"));
		refuses(1, and(two, "30 DATA_LOST key=k mode=EXCLUSIVE until=40"));
	}

	private static String[] and(String[] some, String... more) {
		return Stream.of(some, more).flatMap(Stream::of).toArray(String[]::new);
	}

	private static List<String> check(String... lines) {
		return Checker.check(Stream.of(lines).map(Event::parse).toList(), SLACK, POLL);
	}

	private static void accepts(String... lines) {
		assertThat(check(lines)).isEmpty();
	}

	private static void refuses(int property, String... lines) {
		assertThat(check(lines)).isNotEmpty()
			.allSatisfy((violation) -> assertThat(violation).startsWith("property " + property + ": "));
	}

}
