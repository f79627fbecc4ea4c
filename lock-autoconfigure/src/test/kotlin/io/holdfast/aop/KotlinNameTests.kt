package io.holdfast.aop

import io.holdfast.LockNotAcquiredException
import io.holdfast.NotAcquiredException
import io.holdfast.NotAcquiredStrategy
import io.holdfast.annotation.DistributedLock
import io.holdfast.autoconfigure.HoldfastAopAutoConfiguration
import io.holdfast.observation.MethodObservations
import io.micrometer.common.KeyValue
import io.micrometer.observation.Observation
import io.micrometer.observation.ObservationHandler
import io.micrometer.observation.ObservationRegistry
import java.lang.reflect.Method
import java.util.concurrent.CompletableFuture
import kotlinx.coroutines.runBlocking
import org.assertj.core.api.Assertions.assertThat
import org.assertj.core.api.Assertions.catchThrowable
import org.junit.jupiter.api.DisplayName
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.extension.ExtendWith
import org.springframework.boot.WebApplicationType
import org.springframework.boot.autoconfigure.EnableAutoConfiguration
import org.springframework.boot.builder.SpringApplicationBuilder
import org.springframework.boot.test.system.CapturedOutput
import org.springframework.boot.test.system.OutputCaptureExtension
import org.springframework.context.annotation.Configuration
import org.springframework.context.annotation.Import
import reactor.core.publisher.Mono

/** Functions whose names differ in byte code and Kotlin: internal functions, and functions with value classes. */
internal class KotlinNameTests {

    @Test
    @DisplayName("The default name of a lock is the function's name in Kotlin")
    fun defaultNames() = runBlocking<Unit> {
        LockedContext(Shop::class.java).use { context ->
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
        LockedContext(Falling::class.java).use { context ->
            context.locks().busy()
            val falling = context.bean(Falling::class.java)
            assertThat(falling.first("a")).isEqualTo("internal a")
            assertThat(falling.second(Sku("a"))).isEqualTo("value a TIMED_OUT")
            assertThat(falling.third()).isEqualTo(Sku("result"))
            assertThat(falling.fourth(Sku("a"))).isEqualTo("exact a")
        }
    }

    @Test
    @DisplayName("Several fallbacks of the same Kotlin name are ambiguous if they fit equally")
    fun ambiguous() {
        assertThat(LockedContext.refusal(mapOf()) { it.register(Ambiguous::class.java) })
            .hasMessageContaining("Ambiguous.sell(String): fallback = \"busy\" is ambiguous: 2 methods fit")
        assertThat(LockedContext.refusal(mapOf()) { it.register(Misfit::class.java) })
            .hasMessageContaining("fallback = \"busy\" has other parameters: busy(int)")
    }

    @Test
    @DisplayName("Expressions see the function's name in Kotlin")
    fun expressions() {
        LockedContext(Told::class.java).use { context ->
            context.bean(Told::class.java).reserve(Sku("a"))
            assertThat(context.locks().keys()).containsExactly("reserve/a")
        }
    }

    @Test
    @DisplayName("Messages of calls have the function's name in Kotlin")
    fun messages() {
        val told = Told::class.java.name
        LockedContext(Told::class.java, Strategy::class.java).use { context ->
            val bean = context.bean(Told::class.java)
            assertThat(catchThrowable { bean.later(Sku("a"))!!.join() })
                .hasRootCauseMessage("@DistributedLock on $told.later(String) returned null: it has to return a stage, which may be completed with null")
            assertThat(catchThrowable { bean.chain(Sku("a"))!!.block() })
                .hasMessage("@DistributedLock on $told.chain(String) returned null: it has to return a reactive type, which may be empty")
            context.locks().busy()
            assertThat(catchThrowable { bean.reserve(Sku("a")) })
                .hasMessageContaining("gave a java.lang.Integer for @DistributedLock on $told.reserve(String): give a result of its type")
        }
    }

    @Test
    @DisplayName("Observations have the function's name in Kotlin")
    fun observations() {
        val context = observed(Told::class.java.declaredMethods.first { it.name.startsWith("reserve") })
        assertThat(context.getLowCardinalityKeyValue("method")).isEqualTo(KeyValue.of("method", "reserve"))
        assertThat(context.contextualName).isEqualTo("Told#reserve")
    }

    @Test
    @DisplayName("The warning of unguarded methods has the function's name in Kotlin")
    @ExtendWith(OutputCaptureExtension::class)
    fun warnings(output: CapturedOutput) {
        SpringApplicationBuilder(Application::class.java).web(WebApplicationType.NONE).run("--holdfast.backend=memory").close()
        assertThat(output.toString()).contains("not part of this context: ${One::class.java.name}.work. In the test")
    }

    private fun observed(method: Method): Observation.Context {
        val registry = ObservationRegistry.create()
        registry.observationConfig().observationHandler(ObservationHandler<Observation.Context> { true })
        val observation = MethodObservations(registry).start(method, Told::class.java, null)
        observation.stop()
        return observation.context
    }

    @JvmInline
    value class Sku(val text: String)

    @JvmInline
    value class Place(val text: String)

    open class Shop {

        @DistributedLock internal open fun inModule() = Unit
        @DistributedLock internal open suspend fun suspendingInModule() = Unit
        @DistributedLock open fun withValue(sku: Sku) = Unit
        @DistributedLock open suspend fun suspendingWithValue(sku: Sku) = Unit
        @DistributedLock internal open fun both(sku: Sku) = Unit

    }

    open class Told {

        @DistributedLock(key = "methodName + '/' + #sku")
        internal open fun reserve(sku: Sku): String = sku.text

        @DistributedLock
        open fun later(sku: Sku): CompletableFuture<String>? = null

        @DistributedLock
        open fun chain(sku: Sku): Mono<String>? = null

    }

    class Strategy : NotAcquiredStrategy {

        override fun answer(method: Method, ex: NotAcquiredException): Any = 1

    }

    open class One {

        @DistributedLock internal open fun work() = Unit

    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration(exclude = [HoldfastAopAutoConfiguration::class])
    @Import(One::class)
    open class Application

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
