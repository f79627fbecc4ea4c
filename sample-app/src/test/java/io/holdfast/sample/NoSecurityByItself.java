package io.holdfast.sample;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.autoconfigure.AutoConfigurationImportFilter;
import org.springframework.boot.autoconfigure.AutoConfigurationMetadata;

/**
 * Filter that excludes Spring Boot's configuration of Spring Security, which would secure
 * all tests.
 */
class NoSecurityByItself implements AutoConfigurationImportFilter {

	@Override
	public boolean[] match(@Nullable String[] classes, AutoConfigurationMetadata metadata) {
		boolean[] matches = new boolean[classes.length];
		for (int i = 0; i < classes.length; i++) {
			matches[i] = !String.valueOf(classes[i]).startsWith("org.springframework.boot.security.");
		}
		return matches;
	}

}
