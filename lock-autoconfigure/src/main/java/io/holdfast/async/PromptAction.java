package io.holdfast.async;

/**
 * Non-blocking action on the loss of a lease, such as an interrupt. It does not wait for
 * slow actions, and may be called more than once.
 */
@FunctionalInterface
public interface PromptAction extends Runnable {

}
