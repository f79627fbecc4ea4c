package io.holdfast.autoconfigure;

import io.holdfast.redis.driver.RedisDriverException;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * Failure analyzer for unsupported drivers and connection factories.
 */
final class RedisDriverFailureAnalyzer extends AbstractFailureAnalyzer<RedisDriverException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, RedisDriverException cause) {
		return new FailureAnalysis(cause.getProblem() + ".", cause.getCure() + ".", cause);
	}

}
