package io.holdfast;

import java.time.Duration;

import io.holdfast.async.SingleLine;
import org.jspecify.annotations.Nullable;

/**
 * Event of the loss of a lease before its release, for annotated methods as for services.
 * Published as a Spring application event: <pre class=
 * "code">
 * &#064;EventListener
 * void lost(LeaseLostEvent event) { ... }</pre> Immutable.
 *
 * <p>
 * Published in the application context of the services, not in its child contexts.
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
	 * @param permits the number of lost permits of a semaphore, or 0 for a lock
	 * @param held the time from the grant to the loss
	 * @param reason the reason of the loss, as text for people
	 */
	public LeaseLostEvent(String key, @Nullable String name, int permits, Duration held, String reason) {
		this.key = key;
		this.name = name;
		this.permits = permits;
		this.held = held;
		this.reason = reason;
	}

	/**
	 * Return the key, with its {@linkplain KeyNamespace namespace} in front.
	 * @return the key
	 */
	public String key() {
		return this.key;
	}

	/**
	 * Return the name of the lock or semaphore. For an annotated method, this is the
	 * annotation's name, or class and method if the annotation has no name.
	 * @return the name, or {@code null} if the request had none
	 */
	public @Nullable String name() {
		return this.name;
	}

	/**
	 * Return the number of lost permits of a semaphore.
	 * @return the number of permits, or 0 for a lock
	 */
	public int permits() {
		return this.permits;
	}

	/**
	 * Return the time for which the lease was held.
	 * @return the time from the grant to the loss
	 */
	public Duration held() {
		return this.held;
	}

	/**
	 * Return the reason of the loss.
	 * @return the reason, as text for people
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
