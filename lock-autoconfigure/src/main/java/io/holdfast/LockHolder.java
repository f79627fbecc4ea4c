package io.holdfast;

import java.io.Serializable;

/**
 * The instance that holds a lock exclusively, as it has registered itself in Redis. One
 * that has stopped keeps its name in the instances that have seen it.
 *
 * @param application the name of the application, {@code spring.application.name}
 * @param host the name of its host
 * @param process the id of its process on that host
 * @param instance the name of the instance in endpoints, console and log: 8 hexadecimal
 * digits
 * @since 0.1.0
 */
public record LockHolder(String application, String host, long process, String instance) implements Serializable {
}
