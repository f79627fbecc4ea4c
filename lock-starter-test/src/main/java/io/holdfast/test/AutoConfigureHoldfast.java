package io.holdfast.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import io.holdfast.autoconfigure.HoldfastProperties.Backend;
import io.holdfast.memory.MemoryLeases;

import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.test.context.PropertyMapping;

/**
 * Annotation for test classes that adds Holdfast to the application context of the test:
 * the services, and locks and permits of annotated methods. For slices such as
 * {@code @WebMvcTest}, which otherwise leave Holdfast out, and for
 * {@code @SpringBootTest}.
 *
 * <p>
 * By default, leases are kept in the memory of this JVM, and no Redis is needed. The
 * context then has a bean {@link HoldfastClock} to let time pass immediately, unless the
 * context defines {@link MemoryLeases} or its own engine.
 *
 * @since 0.1.0
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ImportAutoConfiguration
public @interface AutoConfigureHoldfast {

	/**
	 * The place where leases are kept. Takes precedence over the property {@code
	 * holdfast.backend}. {@link Backend#REDIS} needs the connection of the slice, as in
	 * {@code @DataRedisTest}, or {@code @AutoConfigureDataRedis}.
	 * @return the backend
	 */
	@PropertyMapping("holdfast.backend")
	Backend backend() default Backend.MEMORY;

}
