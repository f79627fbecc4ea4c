package io.holdfast;

import java.time.Duration;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * A lease was lost before its holder released it, whether it was taken by an annotation
 * or by hand. In an application, published as a Spring application event: <pre class=
 * "code">
 * &#064;EventListener
 * void lost(LeaseLostEvent event) { ... }</pre> Immutable.
 *
 * <p>
 * Told in the application context that has the engine, not in its child contexts.
 *
 * @since 0.1.0
 */
public final class LeaseLostEvent {

	private final String key;

	private final @Nullable String name;

	private final int permits;

	private final Duration held;

	private final String reason;

	/**
	 * Create an event.
	 * @param key the key as its user named it
	 * @param name the name of the lock or semaphore, or {@code null}
	 * @param permits how many permits of a semaphore were lost, or 0 for a lock
	 * @param held how long the lease was held
	 * @param reason why it was lost, in words
	 */
	public LeaseLostEvent(String key, @Nullable String name, int permits, Duration held, String reason) {
		this.key = key;
		this.name = name;
		this.permits = permits;
		this.held = held;
		this.reason = reason;
	}

	/**
	 * Return the key as its user named it.
	 * @return the key
	 */
	public String key() {
		return this.key;
	}

	/**
	 * Return the name of the lock or semaphore: of an annotated method, its annotation's
	 * name or the name of class and method.
	 * @return the name, or {@code null} if the request had none
	 */
	public @Nullable String name() {
		return this.name;
	}

	/**
	 * Return how many permits of a semaphore were lost.
	 * @return the number of permits, or 0 for a lock
	 */
	public int permits() {
		return this.permits;
	}

	/**
	 * Return how long the lease was held.
	 * @return the time
	 */
	public Duration held() {
		return this.held;
	}

	/**
	 * Return why the lease was lost.
	 * @return the reason, in words
	 */
	public String reason() {
		return this.reason;
	}

	@Override
	public String toString() {
		return SingleLine.of("LeaseLostEvent[key=" + this.key + ", name=" + this.name + ", permits=" + this.permits
				+ ", held=" + this.held + ", reason=" + this.reason + "]");
	}

}
