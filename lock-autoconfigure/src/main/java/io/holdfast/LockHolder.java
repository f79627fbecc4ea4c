package io.holdfast;

import java.io.Serializable;

/**
 * The instance that holds a lock exclusively, as registered in Redis. An instance that
 * has read the registration still shows the holder's name after the holder has stopped.
 *
 * @param application the name of the application, {@code spring.application.name}
 * @param host the name of the instance's host
 * @param process the id of the instance's process on this host
 * @param instance the name of the instance in endpoints, console and log: 8 hexadecimal
 * digits
 * @since 0.1.0
 */
public record LockHolder(String application, String host, long process, String instance) implements Serializable {
}
