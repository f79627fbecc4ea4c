package io.holdfast;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * A lease was lost before its holder released it, whether it was taken by an annotation
 * or by hand. In an application, published as a Spring application event: <pre class=
 * "code">
 * &#064;EventListener
 * void lost(LeaseLostEvent event) { ... }</pre>
 *
 * @param key the key as its user named it
 * @param name what kind of thing it is: of an annotated method, its annotation's name or
 * the name of class and method; {@code null} if the request had none
 * @param permits of how many permits of a semaphore it was, or 0 for that of a lock
 * @param held how long it was held
 * @param reason why it was lost, in words
 */
public record LeaseLostEvent(String key, @Nullable String name, int permits, Duration held, String reason) {
}
