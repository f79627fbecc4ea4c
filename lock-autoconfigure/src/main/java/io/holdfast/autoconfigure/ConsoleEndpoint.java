package io.holdfast.autoconfigure;

import java.beans.PropertyDescriptor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.BeanUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.EndpointAccessResolver;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoints;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;
import org.springframework.core.io.ClassPathResource;
import org.springframework.http.CacheControl;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.StringUtils;
import org.springframework.web.context.request.RequestAttributes;
import org.springframework.web.context.request.RequestContextHolder;

/**
 * Endpoint that serves the console: a page, its files, and its settings. The page gets
 * its data from the endpoints {@code locks} and {@code semaphores}. Thread-safe.
 */
@WebEndpoint(id = "holdfast", defaultAccess = Access.READ_ONLY)
class ConsoleEndpoint {

	/**
	 * Header with the name and value of the CSRF header that Spring Security requires for
	 * changes.
	 */
	private static final String CSRF = "Holdfast-Csrf";

	/**
	 * Content security policy: only the console's own files, and no frames, against
	 * clickjacking.
	 */
	private static final String POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
			+ "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

	private static final String FOLDER = "META-INF/holdfast/console/";

	private static final String TOKEN = "org.springframework.security.web.csrf.CsrfToken";

	private static final EndpointId ID = EndpointId.of("holdfast");

	private static final MediaType HTML = new MediaType(MediaType.TEXT_HTML, StandardCharsets.UTF_8);

	private static final Map<String, MediaType> TYPES = Map.of("js",
			new MediaType("text", "javascript", StandardCharsets.UTF_8), "css",
			new MediaType("text", "css", StandardCharsets.UTF_8), "svg",
			new MediaType("image", "svg+xml", StandardCharsets.UTF_8));

	private final ObjectProvider<PathMappedEndpoints> endpoints;

	private final ObjectProvider<EndpointAccessResolver> access;

	ConsoleEndpoint(ObjectProvider<PathMappedEndpoints> endpoints, ObjectProvider<EndpointAccessResolver> access) {
		this.endpoints = endpoints;
		this.access = access;
	}

	/**
	 * Return the page.
	 * @return the page
	 */
	@ReadOperation(produces = MediaType.TEXT_HTML_VALUE)
	Object page() {
		// Links to files are relative to the page's path.
		String path = path(ID);
		String name = (path != null) ? path.substring(path.lastIndexOf('/') + 1) : ID.toString();
		return answer(read("index.html").replace("\"holdfast/", "\"" + name + "/"), HTML);
	}

	/**
	 * Return a file of the page, or its settings.
	 * @param file the name of the file, or {@code settings}
	 * @return the file, or {@code null} if there is no such file
	 */
	@ReadOperation(produces = { "text/javascript", "text/css", "image/svg+xml", MediaType.APPLICATION_JSON_VALUE })
	@Nullable Object file(@Selector String file) {
		if (file.equals("settings")) {
			return answer(settings(), MediaType.APPLICATION_JSON);
		}
		MediaType type = TYPES.get(String.valueOf(StringUtils.getFilenameExtension(file)));
		if (type == null || !file.matches("[a-z]+\\.[a-z]+") || !resource(file).exists()) {
			return null;
		}
		return answer(read(file), type);
	}

	private Map<String, Object> settings() {
		Map<String, Object> settings = new LinkedHashMap<>();
		for (String id : new String[] { "locks", "semaphores" }) {
			String path = path(EndpointId.of(id));
			if (path != null) {
				settings.put(id, Map.of("path", path, "writable", isWritable(EndpointId.of(id))));
			}
		}
		String own = path(ID);
		settings.put("depth", (own != null) ? own.split("/").length : 1);
		return settings;
	}

	private @Nullable String path(EndpointId id) {
		PathMappedEndpoints mapped = this.endpoints.getIfAvailable();
		return (mapped != null) ? mapped.getRootPath(id) : null;
	}

	private boolean isWritable(EndpointId id) {
		EndpointAccessResolver resolver = this.access.getIfAvailable();
		return resolver != null && resolver.accessFor(id, Access.READ_ONLY) == Access.UNRESTRICTED;
	}

	/**
	 * Return a file from the class path. Not with the thread's class loader, which may be
	 * that of another application.
	 */
	private static ClassPathResource resource(String file) {
		return new ClassPathResource(FOLDER + file, ConsoleEndpoint.class.getClassLoader());
	}

	private static String read(String file) {
		try {
			return resource(file).getContentAsString(StandardCharsets.UTF_8);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Return a response, with headers in Spring MVC. In Spring WebFlux,
	 * {@link ConsoleReactiveConfiguration} adds the headers.
	 */
	private static Object answer(Object body, MediaType type) {
		RequestAttributes request = RequestContextHolder.getRequestAttributes();
		if (request == null) {
			return new WebEndpointResponse<>(body, type);
		}
		HttpHeaders headers = new HttpHeaders();
		headers.setContentType(type);
		addHeaders(headers, request.getAttribute(TOKEN, RequestAttributes.SCOPE_REQUEST));
		return ResponseEntity.ok().headers(headers).body(body);
	}

	/**
	 * Add the headers of the console.
	 * @param headers the headers of the response
	 * @param token the CSRF token of Spring Security, or {@code null}
	 */
	static void addHeaders(HttpHeaders headers, @Nullable Object token) {
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
