package io.holdfast.testing;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.junit.jupiter.api.Tag;

/**
 * Test that takes too long for every build. Such a test runs with {@code -Pfull}, or by
 * its name. The file {@code slow-tests.txt} names a quick test of the same code path for
 * each slow test.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ ElementType.TYPE, ElementType.METHOD })
@Tag("slow")
public @interface Slow {

}
