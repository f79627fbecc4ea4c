package io.holdfast.sample;

import io.holdfast.HoldfastException;

import org.springframework.dao.DataAccessException;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.servlet.mvc.method.annotation.ResponseEntityExceptionHandler;

/**
 * Answers errors as problem details (RFC 9457).
 */
@RestControllerAdvice
class ShopErrors extends ResponseEntityExceptionHandler {

	@ExceptionHandler({ HoldfastException.class, DataAccessException.class })
	ProblemDetail unavailable(RuntimeException ex) {
		this.logger.warn("A request failed", ex);
		return ProblemDetail.forStatusAndDetail(HttpStatus.SERVICE_UNAVAILABLE, String.valueOf(ex.getMessage()));
	}

}
