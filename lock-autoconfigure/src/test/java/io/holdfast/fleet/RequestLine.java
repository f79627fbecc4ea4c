package io.holdfast.fleet;

import java.time.Duration;
import java.util.List;

import io.holdfast.LockMode;
import io.holdfast.LockRequest;
import io.holdfast.SemaphoreRequest;
import org.jspecify.annotations.Nullable;

/**
 * Requests as words of a line for another process. Keys have no spaces or commas.
 */
final class RequestLine {

	private static final String DEFAULT = "-";

	private RequestLine() {
	}

	static String of(LockRequest request) {
		return "lock %s %s %s %s %s".formatted(String.join(",", request.keys()), request.mode(),
				millis(request.waitTime()), millis(request.leaseTime()), request.isAutoRenew());
	}

	static String of(SemaphoreRequest request) {
		String fair = (request.fair() != null) ? request.fair().toString() : DEFAULT;
		return "semaphore %s %d %d %s %s %s %s".formatted(request.key(), request.limit(), request.permits(), fair,
				millis(request.waitTime()), millis(request.leaseTime()), request.isAutoRenew());
	}

	private static String millis(@Nullable Duration time) {
		return (time != null) ? Long.toString(time.toMillis()) : DEFAULT;
	}

	static boolean isForLock(List<String> words) {
		return words.get(0).equals("lock");
	}

	static LockRequest lock(List<String> words) {
		LockRequest request = LockRequest.ofAll(List.of(words.get(1).split(",")))
			.mode(LockMode.valueOf(words.get(2)))
			.autoRenew(Boolean.parseBoolean(words.get(5)));
		request = isSaid(words.get(3)) ? request.waitTime(time(words.get(3))) : request;
		return isSaid(words.get(4)) ? request.leaseTime(time(words.get(4))) : request;
	}

	static SemaphoreRequest semaphore(List<String> words) {
		SemaphoreRequest request = SemaphoreRequest.of(words.get(1), Integer.parseInt(words.get(2)))
			.permits(Integer.parseInt(words.get(3)))
			.autoRenew(Boolean.parseBoolean(words.get(7)));
		request = isSaid(words.get(4)) ? request.fair(Boolean.parseBoolean(words.get(4))) : request;
		request = isSaid(words.get(5)) ? request.waitTime(time(words.get(5))) : request;
		return isSaid(words.get(6)) ? request.leaseTime(time(words.get(6))) : request;
	}

	private static boolean isSaid(String word) {
		return !word.equals(DEFAULT);
	}

	private static Duration time(String millis) {
		return Duration.ofMillis(Long.parseLong(millis));
	}

}
