package io.holdfast;

import java.time.Duration;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Valid and invalid requests to a semaphore service.
 */
class SemaphoreRequestTests extends RequestTestCase<SemaphoreRequest> {

	private static final SemaphoreRequest REQUEST = SemaphoreRequest.of("geocoder", 10);

	@Test
	@DisplayName("Attributes without a value are left to the service, except for renewal and the single permit")
	void defaults() {
		assertThat(REQUEST.key()).isEqualTo("geocoder");
		assertThat(REQUEST.limit()).isEqualTo(10);
		assertThat(REQUEST.permits()).isEqualTo(1);
		assertThat(REQUEST.waitTime()).isNull();
		assertThat(REQUEST.leaseTime()).isNull();
		assertThat(REQUEST.maxHold()).isNull();
		assertThat(REQUEST.minHold()).isZero();
		assertThat(REQUEST.name()).isNull();
		assertThat(REQUEST.fair()).isNull();
		assertThat(REQUEST.isAutoRenew()).isTrue();
	}

	@Test
	@DisplayName("The limit may be left to the operator")
	void operatorsLimit() {
		SemaphoreRequest request = SemaphoreRequest.of("geocoder").permits(3);
		assertThat(request.limit()).isZero();
		assertThat(request.only("maps")).isEqualTo(SemaphoreRequest.of("maps").permits(3))
			.asString()
			.startsWith("SemaphoreRequest[maps, limit=operator's, permits=3, ");
		assertThat(request).isNotEqualTo(REQUEST.permits(3));
		assertThatIllegalArgumentException().isThrownBy(() -> SemaphoreRequest.of(" "));
		assertThatIllegalArgumentException().isThrownBy(() -> SemaphoreRequest.of("geocoder", 0));
	}

	@Test
	@DisplayName("A request has the given attributes, also in its text")
	void said() {
		SemaphoreRequest request = REQUEST.permits(3)
			.waitTime(Duration.ofSeconds(10))
			.leaseTime(Duration.ofSeconds(20))
			.maxHold(Duration.ofSeconds(40))
			.minHold(Duration.ofSeconds(30))
			.name("calls")
			.fair(false);
		assertThat(request.permits()).isEqualTo(3);
		assertThat(request.waitTime()).hasSeconds(10);
		assertThat(request.leaseTime()).hasSeconds(20);
		assertThat(request.maxHold()).hasSeconds(40);
		assertThat(request.minHold()).hasSeconds(30);
		assertThat(request.name()).isEqualTo("calls");
		assertThat(request.fair()).isFalse();
		assertThat(request).hasToString("SemaphoreRequest[geocoder, limit=10, permits=3, waitTime=PT10S, "
				+ "leaseTime=PT20S, maxHold=PT40S, minHold=PT30S, autoRenew=true, name=calls, fair=false]");
	}

	@Override
	SemaphoreRequest plain() {
		return SemaphoreRequest.of("geocoder", 10);
	}

	@Test
	@DisplayName("Requests with different keys or limits differ")
	void differences() {
		assertThat(REQUEST).isNotEqualTo(SemaphoreRequest.of("geocoder", 11))
			.isNotEqualTo(SemaphoreRequest.of("other", 10));
	}

	static Stream<Named<UnaryOperator<SemaphoreRequest>>> changes() {
		return Stream.of(Named.of("permits", (request) -> request.permits(2)),
				Named.of("waitTime", (request) -> request.waitTime(Duration.ofSeconds(1))),
				Named.of("waitForever", SemaphoreRequest::waitForever),
				Named.of("leaseTime", (request) -> request.leaseTime(Duration.ofSeconds(2))),
				Named.of("renewal", (request) -> request.autoRenew(false)),
				Named.of("maxHold", (request) -> request.maxHold(Duration.ofSeconds(3))),
				Named.of("minHold", (request) -> request.minHold(Duration.ofSeconds(4))),
				Named.of("name", (request) -> request.name("calls")),
				Named.of("note", (request) -> request.note("anna edits")),
				Named.of("fair", (request) -> request.fair(true)));
	}

	static Stream<Arguments> bad() {
		String permits = ", which is not from 1 to 1000000000";
		return Stream.of(bad((request) -> request.permits(0), "permits of semaphore 'geocoder' is 0" + permits),
				bad((request) -> request.permits(1_000_000_001),
						"permits of semaphore 'geocoder' is 1000000001" + permits),
				bad((request) -> SemaphoreRequest.of("geocoder", 0), "limit of semaphore 'geocoder' is 0" + permits),
				bad((request) -> SemaphoreRequest.of("geocoder", 1_000_000_001),
						"limit of semaphore 'geocoder' is 1000000001" + permits),
				bad((request) -> request.leaseTime(Duration.ofMillis(99)),
						"leaseTime of semaphore 'geocoder' is PT0.099S, which is not from PT0.1S to PT8760H"),
				bad((request) -> request.minHold(Duration.ofDays(366)),
						"minHold of semaphore 'geocoder' is PT8784H, which is not from PT0S to PT8760H"));
	}

	private static Arguments bad(Function<SemaphoreRequest, SemaphoreRequest> change, String message) {
		return Arguments.of(change, message);
	}

	@ParameterizedTest
	@MethodSource("bad")
	@DisplayName("An invalid value is refused, with the attribute, the value and the cure")
	void refused(Function<SemaphoreRequest, SemaphoreRequest> change, String message) {
		assertThatIllegalArgumentException().isThrownBy(() -> change.apply(REQUEST)).withMessageStartingWith(message);
	}

	@Test
	@DisplayName("The bounds themselves are allowed")
	void bounds() {
		assertThat(REQUEST.permits(1_000_000_000).permits()).isEqualTo(1_000_000_000);
		assertThat(SemaphoreRequest.of("geocoder", 1_000_000_000).limit()).isEqualTo(1_000_000_000);
		assertThat(REQUEST.permits(11).permits()).as("more than there are: an operator may have set more")
			.isEqualTo(11);
		assertThat(REQUEST.waitForever().waitTime()).isGreaterThan(Duration.ofDays(365 * 50));
	}

	@ParameterizedTest
	@ValueSource(strings = { "", " ", "a\u0000b" })
	@DisplayName("An invalid key is refused")
	void badKeys(String key) {
		assertThatIllegalArgumentException().isThrownBy(() -> SemaphoreRequest.of(key, 1))
			.withMessageContaining("semaphore's key");
	}

}
