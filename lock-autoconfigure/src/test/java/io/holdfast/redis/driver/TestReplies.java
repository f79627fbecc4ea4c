package io.holdfast.redis.driver;

import java.nio.ByteBuffer;
import java.util.List;

/**
 * Makes replies of scripts.
 */
public final class TestReplies {

	private TestReplies() {
	}

	/** Return a reply of numbers, bytes and {@code null}. */
	public static ScriptReply of(List<?> elements) {
		ScriptReply reply = new ScriptReply();
		reply.multi(elements.size());
		for (Object element : elements) {
			if (element instanceof Long number) {
				reply.set(number);
			}
			else {
				reply.set((element != null) ? ByteBuffer.wrap((byte[]) element) : null);
			}
		}
		return reply;
	}

}
