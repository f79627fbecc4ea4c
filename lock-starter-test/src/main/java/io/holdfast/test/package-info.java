/** Support for tests of applications that use Holdfast. */
@NullMarked
package io.holdfast.test;

import org.jspecify.annotations.NullMarked;
