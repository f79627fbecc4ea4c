package io.holdfast.async;

/**
 * Action on the loss of a lease that is over at once, such as an interrupt, and may run
 * more than once. It does not wait for actions that take their time.
 */
@FunctionalInterface
public interface PromptAction extends Runnable {

}
