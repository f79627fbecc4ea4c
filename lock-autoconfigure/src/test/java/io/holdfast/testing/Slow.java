package io.holdfast.testing;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.junit.jupiter.api.Tag;

/**
 * A test that takes too long for every build: it runs by {@code -Pfull}, and when it is
 * asked for by name. The file {@code slow-tests.txt} names a quick one of the same code
 * path for each.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ ElementType.TYPE, ElementType.METHOD })
@Tag("slow")
public @interface Slow {

}
