package io.holdfast.aop.method;

import org.jspecify.annotations.Nullable;

import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.util.StringUtils;
import org.springframework.util.StringValueResolver;

/**
 * Reads the attributes of an annotation by their names.
 *
 * @param annotatedMethod the annotation
 * @param resolver resolves placeholders
 * @since 0.1.0
 */
public record AnnotationValues(AnnotatedMethod<?> annotatedMethod, StringValueResolver resolver) {

	/** Return the values that need no resolving. */
	public MergedAnnotation<?> plain() {
		return this.annotatedMethod.annotation();
	}

	/**
	 * Return a text with its placeholders resolved.
	 * @return the text; empty only if nothing was written
	 */
	public String text(String attribute) {
		String resolved = resolve(attribute);
		if (!written(attribute).isEmpty() && !StringUtils.hasText(resolved)) {
			throw invalid(attribute, "is blank", "Give it a value, or leave the attribute out", null);
		}
		return resolved;
	}

	/**
	 * Return the name, which is plain text.
	 * @return the name; empty only if nothing was written
	 */
	public String name() {
		String name = text("name");
		// A parameter would be no parameter there, or null in #{...}.
		if (name.contains("#") || written("name").replace("#{", "").contains("#")) {
			throw invalid("name", "has a '#', although parameters are not known in it: all calls would share one key",
					"Write key = \"#sku\" for what differs from call to call, beside or instead of the name; "
							+ "as plain text, a '#' has to be in quotes in the key",
					null);
		}
		return name;
	}

	/**
	 * Return the text of an expression.
	 * @return the expression; empty if there is none
	 */
	public String expression(String attribute) {
		// Resolving it would evaluate what is inside, now and without arguments.
		if (written(attribute).contains("#{")) {
			throw invalid(attribute, "has #{...} around an expression",
					"The attribute is an expression already: leave #{ and } out", null);
		}
		return text(attribute);
	}

	/** Return a positive whole number that is given as text. */
	public int count(String attribute, int max) {
		if (written(attribute).contains("#{")) {
			throw invalid(attribute, "has an expression, which is not evaluated here",
					"Write a number, or a placeholder such as ${property:10}", null);
		}
		String resolved = resolve(attribute).trim();
		NumberFormatException cause = null;
		try {
			int count = Integer.parseInt(resolved);
			if (count >= 1 && count <= max) {
				return count;
			}
		}
		catch (NumberFormatException ex) {
			cause = ex;
		}
		throw invalid(attribute, standsFor(attribute, resolved) + "is not a whole number from 1 to " + max,
				"Write for example 10", cause);
	}

	/**
	 * Return what a placeholder was replaced with, for messages that begin with the text.
	 * @param resolved what is meant
	 * @return the words; empty if just that is written
	 */
	public String standsFor(String attribute, String resolved) {
		return written(attribute).equals(resolved) ? "" : "(" + resolved + ") ";
	}

	/** Refuse an attribute. */
	public InvalidDeclarationException invalid(String attribute, String problem, String cure,
			@Nullable Throwable cause) {
		Object value = plain().getValue(attribute).orElseThrow();
		return this.annotatedMethod.invalid(attribute, value, problem, cure, cause);
	}

	private String written(String attribute) {
		return plain().getString(attribute);
	}

	/** Return a text with its placeholders resolved, whatever that gives. */
	public String resolve(String attribute) {
		String text = written(attribute);
		if (text.isEmpty()) {
			return text;
		}
		String resolved;
		try {
			resolved = this.resolver.resolveStringValue(text);
		}
		catch (IllegalArgumentException ex) {
			throw unresolved(attribute, ex);
		}
		if (resolved == null) {
			return "";
		}
		// Without a configurer that is strict, a context leaves what it cannot resolve.
		if (resolved.contains("${")) {
			throw unresolved(attribute, null);
		}
		return resolved;
	}

	private InvalidDeclarationException unresolved(String attribute, @Nullable Exception cause) {
		return invalid(attribute, "has a placeholder that cannot be resolved",
				"Set the property, or write a default into the placeholder, as in ${property:default}", cause);
	}

}
