package io.holdfast;

import java.util.List;
import java.util.function.UnaryOperator;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Rules of the requests of both services. Subclasses have a source {@code changes}.
 */
abstract class RequestTestCase<R extends LeaseRequest<R>> {

	/** Return a new request without attributes. */
	abstract R plain();

	@ParameterizedTest
	@MethodSource("changes")
	@DisplayName("Each change returns a new request, and leaves the original unchanged")
	void change(UnaryOperator<R> change) {
		R request = plain();
		R changed = change.apply(request);
		assertThat(changed).isNotEqualTo(request)
			.isEqualTo(change.apply(plain()))
			.hasSameHashCodeAs(change.apply(plain()));
		assertThat(request).isEqualTo(plain());
	}

	@ParameterizedTest
	@MethodSource("changes")
	@DisplayName("Each change keeps the marks for running code and optional leases, which do not count in comparisons")
	void marks(UnaryOperator<R> change) {
		R request = plain();
		R marked = request.forCode().optional();
		assertThat(marked).isEqualTo(request).hasSameHashCodeAs(request);
		assertThat(List.of(request.isForCode(), request.isOptional(), request.forCode().isOptional(),
				request.optional().isForCode()))
			.containsOnly(false);
		assertThat(List.of(change.apply(marked), marked.namespace("tenant"), request.optional().forCode()))
			.allMatch((each) -> each.isForCode() && each.isOptional());
	}

}
