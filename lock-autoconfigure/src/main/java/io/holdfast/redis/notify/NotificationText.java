package io.holdfast.redis.notify;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import io.holdfast.engine.store.StoreNotifications;

/**
 * The text of a message on a wake-up channel.
 */
final class NotificationText {

	/** Kind, fence, time, token and key, which comes last since it may contain blanks. */
	private static final Pattern GRANT = Pattern.compile("([LS]) (\\d{1,18}) (\\d{1,18}) (\\S+) (.+)", Pattern.DOTALL);

	/** The next fence, and the tokens whose leases were released by force. */
	private static final Pattern ENDED = Pattern.compile("E (\\d{1,18}) (\\S.*)");

	/** The question of another instance, by the name of the answer. */
	private static final Pattern REPORT = Pattern.compile("report ([0-9a-f]{32})");

	private NotificationText() {
	}

	/**
	 * Tell the receiver of a text.
	 * @return whether it was understood
	 */
	static boolean tell(String text, StoreNotifications notifications) {
		Matcher grant = GRANT.matcher(text);
		Matcher ended = ENDED.matcher(text);
		Matcher report = REPORT.matcher(text);
		if (grant.matches()) {
			Kind kind = grant.group(1).equals("S") ? Kind.SEMAPHORE : Kind.LOCK;
			notifications.granted(new Resource(kind, grant.group(5)), grant.group(4), Long.parseLong(grant.group(2)),
					Long.parseLong(grant.group(3)));
		}
		else if (ended.matches()) {
			long nextFence = Long.parseLong(ended.group(1));
			for (String token : ended.group(2).split(" ")) {
				notifications.ended(token, nextFence);
			}
		}
		else if (report.matches()) {
			notifications.reportWanted(report.group(1));
		}
		else {
			return false;
		}
		return true;
	}

}
