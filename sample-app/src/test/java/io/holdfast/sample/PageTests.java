package io.holdfast.sample;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.holdfast.sample.Instances.Instance;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.http.HttpMethod;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Files of the page, without a browser; {@link ShopBrowserTests} tests their behaviour.
 */
class PageTests {

	private static final Pattern REFERENCE = Pattern.compile("(?:src=|href=|from )\"(?:\\./)?([^\"#]+)\"");

	private static Instances instances;

	private static Instance shop;

	@BeforeAll
	static void start() {
		instances = new Instances();
		shop = instances.start();
	}

	@AfterAll
	static void stop() {
		instances.close();
	}

	@Test
	@DisplayName("The page at / and all its files exist")
	void hasAllFiles() {
		Set<String> found = new LinkedHashSet<>();
		Deque<String> toRead = new ArrayDeque<>(Set.of(""));
		while (!toRead.isEmpty()) {
			String path = toRead.pop();
			if (found.add(path)) {
				Matcher references = REFERENCE.matcher(read(path));
				while ((path.isEmpty() || path.startsWith("shop/")) && references.find()) {
					toRead.push(path.endsWith(".js") ? "shop/" + references.group(1) : references.group(1));
				}
			}
		}
		assertThat(found).contains("webjars/chart.js/dist/chart.umd.min.js", "shop/style.css", "shop/main.js",
				"shop/dom.js", "shop/latency.js", "help", "actuator/health", "actuator/holdfast");
	}

	@Test
	@DisplayName("The page has no inline script, style or event handler that a content security policy would refuse")
	void obeysItsPolicy() {
		assertThat(read("")).contains("Content-Security-Policy\" content=\"default-src 'self'")
			.doesNotContainPattern("<script>|<style|\\sstyle=|\\son[a-z]+=");
	}

	private static String read(String path) {
		String body = shop.send(HttpMethod.GET, "/" + path, String.class);
		assertThat(body).as(path).isNotEmpty();
		return body;
	}

}
