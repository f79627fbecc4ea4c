package io.holdfast.autoconfigure;

import java.beans.PropertyDescriptor;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.BeanUtils;
import org.springframework.http.CacheControl;
import org.springframework.http.HttpHeaders;
import org.springframework.util.ReflectionUtils;

/**
 * HTTP headers of the console's responses.
 */
final class ConsoleHeaders {

	/**
	 * Header with the name and value of the CSRF header that Spring Security requires for
	 * changes.
	 */
	static final String CSRF = "Holdfast-Csrf";

	/**
	 * Content security policy: only the console's own files, and no frames, against
	 * clickjacking.
	 */
	static final String POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
			+ "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

	private ConsoleHeaders() {
	}

	/**
	 * Add the headers.
	 * @param headers the headers of the response
	 * @param token the CSRF token of Spring Security, or {@code null}
	 */
	static void add(HttpHeaders headers, @Nullable Object token) {
		headers.set("Content-Security-Policy", POLICY);
		headers.set("X-Content-Type-Options", "nosniff");
		headers.set("Referrer-Policy", "no-referrer");
		headers.setCacheControl(CacheControl.noStore());
		if (token != null) {
			headers.set(CSRF, property(token, "headerName") + " " + property(token, "token"));
		}
	}

	private static @Nullable Object property(Object bean, String name) {
		PropertyDescriptor property = BeanUtils.getPropertyDescriptor(bean.getClass(), name);
		if (property == null || property.getReadMethod() == null) {
			return null;
		}
		ReflectionUtils.makeAccessible(property.getReadMethod());
		return ReflectionUtils.invokeMethod(property.getReadMethod(), bean);
	}

}
