package io.holdfast.autoconfigure.console;

import java.beans.PropertyDescriptor;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.BeanUtils;
import org.springframework.http.CacheControl;
import org.springframework.http.HttpHeaders;
import org.springframework.util.ReflectionUtils;

/**
 * The headers of all that the console consists of.
 */
final class ConsoleHeaders {

	/** Name and value of the header that Spring Security wants with each change. */
	static final String CSRF = "Holdfast-Csrf";

	/** Own files only, and in no frame, where a foreign page could have users click. */
	static final String POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
			+ "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

	private ConsoleHeaders() {
	}

	/**
	 * Add the headers.
	 * @param headers the headers of the answer
	 * @param token the token of Spring Security, which may be missing here; or
	 * {@code null}
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
