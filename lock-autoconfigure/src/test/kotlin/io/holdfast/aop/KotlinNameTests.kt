package io.holdfast.aop

import io.holdfast.LockNotAcquiredException
import io.holdfast.annotation.DistributedLock
import kotlinx.coroutines.runBlocking
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.DisplayName
import org.junit.jupiter.api.Test

/** Functions that have other names in byte code than in Kotlin: internal ones, and those with value classes. */
internal class KotlinNameTests {

    @Test
    @DisplayName("The default name of a lock is that of the function in Kotlin")
    fun defaultNames() = runBlocking<Unit> {
        LockedContext.withClassProxies(Shop::class.java).use { context ->
            val shop = context.bean(Shop::class.java)
            shop.inModule()
            shop.suspendingInModule()
            shop.withValue(Sku("a"))
            shop.suspendingWithValue(Sku("a"))
            shop.both(Sku("a"))
            val names = listOf("inModule", "suspendingInModule", "withValue", "suspendingWithValue", "both")
            assertThat(context.locks().keys()).isEqualTo(names.map { Shop::class.java.name + "." + it })
        }
    }

    @Test
    @DisplayName("A fallback is found by its name in Kotlin")
    fun fallbacks() = runBlocking<Unit> {
        LockedContext.withClassProxies(Falling::class.java).use { context ->
            context.locks().busy()
            val falling = context.bean(Falling::class.java)
            assertThat(falling.first("a")).isEqualTo("internal a")
            assertThat(falling.second(Sku("a"))).isEqualTo("value a TIMED_OUT")
            assertThat(falling.third()).isEqualTo(Sku("result"))
            assertThat(falling.fourth(Sku("a"))).isEqualTo("exact a")
        }
    }

    @Test
    @DisplayName("Several fallbacks whose names are the same in Kotlin are ambiguous if they fit alike")
    fun ambiguous() {
        assertThat(LockedContext.failure(mapOf(), Ambiguous::class.java))
            .hasMessageContaining("Ambiguous.sell(String): fallback = \"busy\" is ambiguous: 2 methods fit")
        assertThat(LockedContext.failure(mapOf(), Misfit::class.java))
            .hasMessageContaining("fallback = \"busy\" has other parameters: busy(int)")
    }

    @JvmInline
    value class Sku(val text: String)

    @JvmInline
    value class Place(val text: String)

    open class Shop {

        @DistributedLock
        internal open fun inModule() = Unit

        @DistributedLock
        internal open suspend fun suspendingInModule() = Unit

        @DistributedLock
        open fun withValue(sku: Sku) = Unit

        @DistributedLock
        open suspend fun suspendingWithValue(sku: Sku) = Unit

        @DistributedLock
        internal open fun both(sku: Sku) = Unit

    }

    open class Falling {

        @DistributedLock(fallback = "busy")
        open fun first(text: String): String = text

        internal fun busy(text: String) = "internal $text"

        @DistributedLock(key = "#sku", fallback = "why")
        open suspend fun second(sku: Sku): String = sku.text

        private suspend fun why(sku: Sku, ex: LockNotAcquiredException) = "value ${sku.text} ${ex.reason}"

        @DistributedLock(fallback = "none")
        open fun third(): Sku = Sku("third")

        private fun none(): Sku = Sku("result")

        @DistributedLock(key = "#sku", fallback = "exact")
        open fun fourth(sku: Sku): String = sku.text

        @Suppress("unused")
        internal fun exact(sku: Sku) = "mangled ${sku.text}"

        private fun exact(text: String) = "exact $text"

    }

    open class Ambiguous {

        @DistributedLock(key = "#sku", fallback = "busy")
        open fun sell(sku: String): String = sku

        @Suppress("unused")
        internal fun busy(sku: Sku) = sku.text

        @Suppress("unused")
        internal fun busy(place: Place) = place.text

    }

    open class Misfit {

        @DistributedLock(key = "#sku", fallback = "busy")
        open fun sell(sku: String): String = sku

        @Suppress("unused")
        internal fun busy(count: Int) = "$count"

    }

}
