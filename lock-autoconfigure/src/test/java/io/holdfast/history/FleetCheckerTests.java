package io.holdfast.history;

import java.util.List;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Judge of a watcher's views. Times are in milliseconds here.
 */
class FleetCheckerTests extends CheckerTestCase {

	private static final String KNOWN = "0 KNOWN by=a";

	private static final String[] INQUIRY = { "0 KNOWN by=a", "0 KNOWN by=b", "5000 INQUIRED by=a id=q",
			"5100 INQUIRY_ANSWERED by=a id=q", "5100 REPORTED by=a id=q" };

	private static final String[] HELD = { "4000 ASKED by=b id=1 mode=EXCLUSIVE key=k lease=9000",
			"4010 GRANTED id=1 fence=1 until=9000", "5200 RELEASING id=1" };

	FleetCheckerTests() {
		super(1_000_000);
	}

	@Test
	@DisplayName("9: Present instances are listed, in time")
	void members() {
		refuses(9, KNOWN, "80000 LISTED");
		accepts(KNOWN, "70000 LISTED");
		accepts(KNOWN, "80000 MEMBER by=a", "80000 LISTED");
		refuses(9, KNOWN, "80000 MEMBER by=a", "80000 LISTED", "90000 LISTED");
		accepts("10 KNOWN by=a", "20 CRASHED by=a", "80000 LISTED");
		refuses(9, KNOWN, "20 SHUT_DOWN by=a", "30 RESUMED by=a", "80000 LISTED");
	}

	@Test
	@DisplayName("9: Absent instances are not listed for long")
	void gone() {
		String crash = "20 CRASHED by=a";
		accepts(KNOWN, crash, "80000 MEMBER by=a", "80000 LISTED");
		refuses(9, KNOWN, crash, "200000 MEMBER by=a", "200000 LISTED");
		String shutDown = "20 SHUT_DOWN by=a";
		refuses(9, KNOWN, shutDown, "80000 MEMBER by=a", "80000 LISTED");
		accepts(KNOWN, shutDown, "25 CRASHED by=a", "80000 MEMBER by=a", "80000 LISTED");
		accepts(KNOWN, shutDown, "500 OUTAGE by=a until=600", "80000 MEMBER by=a", "80000 LISTED");
		String[] resumed = { KNOWN, shutDown, "5000 RESUMED by=a", "9000 SHUT_DOWN by=a", "80000 MEMBER by=a",
				"80000 LISTED" };
		refuses(9, resumed);
		accepts(and(resumed, "500 OUTAGE by=a until=600"));
	}

	@Test
	@DisplayName("5 and 8: Reports are answered in time, and fail for a true reason")
	void answers() {
		refuses(5, "5000 INQUIRED by=a id=q", "7000 INQUIRY_ANSWERED by=a id=q");
		refuses(5, "5000 INQUIRED by=a id=q", "7000 QUIET");
		accepts("5000 INQUIRED by=a id=q", "5001 CRASHED by=a", "7000 QUIET");
		accepts("5000 INQUIRED by=a id=q", "5001 PAUSED by=a until=6000", "7000 INQUIRY_ANSWERED by=a id=q why=STORE");
		refuses(8, "5000 INQUIRED by=a id=q", "5900 INQUIRY_ANSWERED by=a id=q why=STORE");
		accepts("5000 INQUIRED by=a id=q", "5100 TROUBLE by=a until=5400", "5900 INQUIRY_ANSWERED by=a id=q why=STORE");
	}

	@Test
	@DisplayName("9: Present instances report, unless a fault kept them")
	void reports() {
		refuses(9, INQUIRY);
		accepts(and(INQUIRY, "5100 REPORTED by=b id=q"));
		for (String excuse : List.of("5050 CRASHED by=b", "4900 SHUT_DOWN by=b", "5010 PAUSED by=b until=5100",
				"4900 OUTAGE by=a until=5000", "5000 DEAF by=b until=5001", "300 DATA_LOST",
				"100 TROUBLE by=b until=200")) {
			accepts(and(INQUIRY, excuse));
		}
		accepts("0 KNOWN by=a", "4500 KNOWN by=b", "5000 INQUIRED by=a id=q", "5100 INQUIRY_ANSWERED by=a id=q",
				"5100 REPORTED by=a id=q");
	}

	@Test
	@DisplayName("9: Reported leases were held, and held leases are reported")
	void holds() {
		String[] held = and(INQUIRY, HELD);
		refuses(9, and(held, "5100 REPORTED by=b id=q"));
		accepts(and(held, "5100 REPORTED by=b id=q why=?,1"));
		accepts(and(held, "5100 REPORTED by=b id=q", "5050 SHUT_DOWN by=b", "5060 LOST id=1 until=5060"));
		String[] over = and(INQUIRY, "3000 ASKED by=b id=2 mode=EXCLUSIVE key=k", "3010 GRANTED id=2 fence=1",
				"4000 RELEASING id=2");
		refuses(9, and(over, "5100 REPORTED by=b id=q why=2"));
		accepts(and(over, "5100 REPORTED by=b id=q"));
		// The part of a request that waits for further keys may take over the hold.
		String[] part = { "3900 ASKED by=b id=3 mode=EXCLUSIVE key=k user=u why=PART",
				"5150 REFUSED id=3 why=INTERRUPTED", "5140 INTERRUPTED id=3", "5100 REPORTED by=b id=q why=2" };
		accepts(and(over, part));
		part[0] = part[0].replace("by=b", "by=a");
		refuses(9, and(over, part));
	}

}
