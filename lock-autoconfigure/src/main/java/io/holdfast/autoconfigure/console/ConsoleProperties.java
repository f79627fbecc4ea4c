package io.holdfast.autoconfigure.console;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Properties of the console for operators.
 *
 * @param enabled Whether there is a page for operators at Actuator's endpoint holdfast;
 * it must be exposed, and so must the endpoints locks and semaphores
 */
@ConfigurationProperties("holdfast.console")
record ConsoleProperties(@DefaultValue("false") boolean enabled) {
}
