package io.holdfast.autoconfigure.start;

import io.holdfast.redis.driver.RedisDriverException;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * Says why the application's driver or connection factory is of no use for Holdfast, and
 * which bean to define.
 */
final class RedisDriverFailureAnalyzer extends AbstractFailureAnalyzer<RedisDriverException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, RedisDriverException cause) {
		return new FailureAnalysis(cause.getProblem() + ".", cause.getCure() + ".", cause);
	}

}
