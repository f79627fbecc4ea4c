package io.holdfast.sample;

import io.holdfast.HoldfastException;
import io.holdfast.LeaseStoreException;
import io.holdfast.NotAcquiredException;
import io.holdfast.NotAcquiredException.Reason;
import io.holdfast.PermitNotAcquiredException;

import org.springframework.dao.DataAccessException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.servlet.mvc.method.annotation.ResponseEntityExceptionHandler;

/**
 * Answers to errors as problem details (RFC 9457). The messages of exceptions, which may
 * contain keys, are only logged.
 */
@RestControllerAdvice
class ShopErrors extends ResponseEntityExceptionHandler {

	@ExceptionHandler({ NotAcquiredException.class, LeaseStoreException.class })
	ResponseEntity<ProblemDetail> notAcquired(HoldfastException ex) {
		HttpStatus status = HttpStatus.SERVICE_UNAVAILABLE;
		if (ex instanceof NotAcquiredException busy && busy.getReason() != Reason.SHUTDOWN) {
			status = (ex instanceof PermitNotAcquiredException) ? HttpStatus.TOO_MANY_REQUESTS : HttpStatus.CONFLICT;
		}
		return tryAgain(status, ex);
	}

	@ExceptionHandler(DataAccessException.class)
	ResponseEntity<ProblemDetail> unavailable(DataAccessException ex) {
		return tryAgain(HttpStatus.SERVICE_UNAVAILABLE, ex);
	}

	private ResponseEntity<ProblemDetail> tryAgain(HttpStatus status, RuntimeException ex) {
		this.logger.warn("A request failed", ex);
		return ResponseEntity.status(status)
			.header(HttpHeaders.RETRY_AFTER, "1")
			.body(ProblemDetail.forStatusAndDetail(status, "Please try again in a moment"));
	}

}
