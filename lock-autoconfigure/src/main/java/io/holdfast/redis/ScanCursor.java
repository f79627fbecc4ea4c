package io.holdfast.redis;

import java.math.BigInteger;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

/**
 * The place of a walk over all keys.
 *
 * @param slot in a cluster, the first slot of the node that it is on
 * @param position the cursor of SCAN
 */
record ScanCursor(int slot, String position) {

	private static final Pattern TEXT = Pattern.compile("([0-9]{1,5})-([0-9]{1,20})");

	/** The position before the first step on a node, and after the last. */
	static final String END = "0";

	/**
	 * Return where to go on.
	 * @param text the end of the page before
	 * @param lastSlot the last slot that there is, 0 without a cluster
	 * @throws IllegalArgumentException if no page ends like that
	 */
	static ScanCursor of(String text, int lastSlot) {
		Matcher matcher = TEXT.matcher(text);
		// A number that is too large fails in Redis, and no key has a slot that is none.
		if (!matcher.matches() || Integer.parseInt(matcher.group(1)) > lastSlot
				|| new BigInteger(matcher.group(2)).bitLength() > Long.SIZE) {
			throw new IllegalArgumentException(
					"The cursor does not come from a page of this list: leave it out to begin with the first page");
		}
		return new ScanCursor(Integer.parseInt(matcher.group(1)), matcher.group(2));
	}

	/**
	 * Return where to go on after a step.
	 * @param next the cursor of SCAN
	 * @param slots the first slots of all nodes, in their order
	 * @return the text of the cursor, or {@code null} if the step was the last one
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
