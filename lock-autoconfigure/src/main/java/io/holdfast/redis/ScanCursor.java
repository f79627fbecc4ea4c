package io.holdfast.redis;

import java.math.BigInteger;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

/**
 * Position in a scan of all keys.
 *
 * @param slot the first slot of the current node; 0 outside of a cluster
 * @param position the cursor of SCAN
 */
record ScanCursor(int slot, String position) {

	private static final Pattern TEXT = Pattern.compile("([0-9]{1,5})-([0-9]{1,20})");

	/** Cursor of SCAN before the first step on a node, and after the last step. */
	static final String END = "0";

	/**
	 * Parse a cursor.
	 * @param text the cursor of a page
	 * @param lastSlot the highest slot; 0 outside of a cluster
	 * @throws IllegalArgumentException if no page has such a cursor
	 */
	static ScanCursor of(String text, int lastSlot) {
		Matcher matcher = TEXT.matcher(text);
		// Redis refuses larger cursors of SCAN, and no key has a higher slot.
		if (!matcher.matches() || Integer.parseInt(matcher.group(1)) > lastSlot
				|| new BigInteger(matcher.group(2)).bitLength() > Long.SIZE) {
			throw new IllegalArgumentException(
					"The cursor does not come from a page of this list: leave it out to begin with the first page");
		}
		return new ScanCursor(Integer.parseInt(matcher.group(1)), matcher.group(2));
	}

	/**
	 * Return the cursor after a step.
	 * @param next the new cursor of SCAN
	 * @param slots the first slots of all nodes, in order
	 * @return the text of the cursor, or {@code null} after the last step
	 */
	@Nullable String after(String next, List<Integer> slots) {
		if (!next.equals(END)) {
			return this.slot + "-" + next;
		}
		return slots.stream()
			.filter((first) -> first > this.slot)
			.findFirst()
			.map((first) -> first + "-" + END)
			.orElse(null);
	}

}
