package io.holdfast.autoconfigure;

import io.holdfast.async.SetupException;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * Failure analyzer for invalid declarations of annotations, unsupported drivers and
 * missing fence tables.
 */
final class SetupFailureAnalyzer extends AbstractFailureAnalyzer<SetupException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, SetupException cause) {
		return new FailureAnalysis(cause.getProblem() + ".", cause.getCure() + ".", cause);
	}

}
