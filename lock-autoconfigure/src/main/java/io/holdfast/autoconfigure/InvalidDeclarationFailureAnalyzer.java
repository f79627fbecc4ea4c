package io.holdfast.autoconfigure;

import io.holdfast.aop.InvalidDeclarationException;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * Failure analyzer for invalid declarations of annotations.
 */
final class InvalidDeclarationFailureAnalyzer extends AbstractFailureAnalyzer<InvalidDeclarationException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, InvalidDeclarationException cause) {
		return new FailureAnalysis(cause.getProblem() + ".", cause.getCure() + ".", cause);
	}

}
