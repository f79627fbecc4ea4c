package io.holdfast.aop

import io.holdfast.LockLease
import io.holdfast.LockNotAcquiredException
import io.holdfast.PermitLease
import io.holdfast.annotation.DistributedLock
import io.holdfast.annotation.OnTimeout
import io.holdfast.annotation.Semaphore
import io.holdfast.reactive.ReactiveLeaseContext
import java.io.IOException
import java.util.Optional
import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.AtomicReference
import kotlin.reflect.KClass
import kotlinx.coroutines.CoroutineName
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.SharedFlow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.reactor.awaitSingle
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.DisplayName
import org.junit.jupiter.api.Test

/** Annotated functions of Kotlin that suspend, or return a flow. */
internal class SuspendingFunctionTests {

    private val context = LockedContext(Shop::class.java)

    private val locks: RecordingLocks = context.locks()

    private val shop: Shop = context.bean(Shop::class.java)

    @AfterEach
    fun close() = context.close()

    @Test
    @DisplayName("A suspending function holds its permit and its lock until its end")
    fun heldUntilTheEnd() = runBlocking<Unit> {
        assertThat(shop.sell("a", 2)).isEqualTo("sold 2 of a")
        assertThat(locks.events()).containsExactly("permit", "lock", "begin", "end", "unlock", "return")
        assertThat(locks.keys()).containsExactly("stock:a")
    }

    @Test
    @DisplayName("A suspending function may return nothing, null, or a type with an empty value")
    fun results() = runBlocking<Unit> {
        shop.nothing()
        assertThat(shop.nullable(null)).isNull()
        assertThat(shop.nullable("some")).isEqualTo("some")
        assertThat(shop.optional()).contains("some")
    }

    @Test
    @DisplayName("Its exceptions reach the caller unchanged, after the release")
    fun exceptions() = runBlocking<Unit> {
        val thrown = runCatching { shop.fails() }.exceptionOrNull()
        assertThat(thrown).isInstanceOf(IOException::class.java).hasMessage("sold out")
        assertThat(locks.events()).containsExactly("lock", "begin", "unlock")
        locks.forget()
        locks.busy()
        assertThat(runCatching { shop.fails() }.exceptionOrNull()).isInstanceOf(LockNotAcquiredException::class.java)
        assertThat(locks.events()).isEmpty()
    }

    @Test
    @DisplayName("Expressions see the parameters by name and position, but not the continuation")
    fun expressions() = runBlocking<Unit> {
        shop.byPlace("a", 3)
        assertThat(locks.keys()).containsExactly("a-2")
        locks.forget()
        shop.onCondition(0)
        assertThat(locks.keys()).isEmpty()
        shop.onCondition(1)
        assertThat(locks.keys()).containsExactly("counted")
        val thrown = runCatching { shop.keyed(null) }.exceptionOrNull()
        assertThat(thrown).isInstanceOf(IllegalArgumentException::class.java).hasMessageContaining("#sku")
    }

    @Test
    @DisplayName("A suspending function has its leases on each of its threads, and in Reactor's context")
    fun leases() = runBlocking<Unit> {
        val found = shop.leases()
        assertThat(found).hasSize(4).containsOnly(locks.lease("leases") as LockLease)
        assertThat(shop.permit()).isEqualTo("permit")
        assertThat(runCatching { LockLease.current() }.exceptionOrNull()).isInstanceOf(IllegalStateException::class.java)
    }

    @Test
    @DisplayName("SKIP gives null or an empty Optional")
    fun skip() = runBlocking<Unit> {
        locks.busy()
        assertThat(shop.nullable("some")).isNull()
        assertThat(shop.optional()).isEmpty
        shop.nothing()
        assertThat(locks.events()).isEmpty()
        assertThat(locks.requests()).hasSize(3).allMatch { it.isOptional }
    }

    @Test
    @DisplayName("A fallback may suspend or not, be private, and take the exception")
    fun fallback() = runBlocking<Unit> {
        locks.busy()
        assertThat(shop.falls("a")).isEqualTo("instead of a")
        assertThat(shop.fallsWithException("a")).isEqualTo("TIMED_OUT a")
        assertThat(shop.fallsAtOnce("a")).isEqualTo("at once a")
        assertThat(shop.fallsToNothing()).isNull()
    }

    @Test
    @DisplayName("A flow has its lock during its collection, anew for each collector")
    fun flows() = runBlocking<Unit> {
        val flow = shop.flow("a")
        assertThat(locks.events()).isEmpty()
        assertThat(flow.toList()).containsExactly("a1", "a2")
        assertThat(flow.toList()).containsExactly("a1", "a2")
        assertThat(locks.events()).containsExactly("lock", "end", "unlock", "lock", "end", "unlock")
        locks.busy()
        assertThat(shop.flow("a").toList()).isEmpty()
    }

    @Test
    @DisplayName("A flow whose condition is false at the call runs in its collector's context; each later collection evaluates anew")
    fun recollected() = runBlocking<Unit>(CoroutineName("collector")) {
        val day = AtomicReference("sunday")
        val rows = shop.named(day)
        assertThat(rows.toList()).containsExactly("collector")
        assertThat(locks.requests()).isEmpty()
        day.set("monday")
        rows.toList()
        assertThat(locks.events()).containsExactly("lock", "unlock")
        day.set("sunday")
        assertThat(rows.toList()).containsExactly("collector")
        day.set("tuesday")
        val later = shop.named(day)
        day.set("wednesday")
        repeat(2) { later.toList() }
        assertThat(locks.keys()).containsExactly("monday", "tuesday", "wednesday")
    }

    @Test
    @DisplayName("An overload of @JvmOverloads for an open function takes the lock once, in the called function")
    fun overloads() {
        LockedContext(Overloaded::class.java).use { context ->
            context.bean(Overloaded::class.java).sell("a")
            assertThat(context.locks().keys()).containsExactly("a1")
            Overloaded::class.java.getMethod("sell", String::class.java).invoke(context.bean(Overloaded::class.java), "b")
            assertThat(context.locks().keys()).containsExactly("a1", "b1")
        }
    }

    @Test
    @DisplayName("Suspending functions that return a result with later work are refused, with the cure")
    fun refusedResults() {
        assertThat(failure<SuspendingFlow>()).hasMessageContaining("because the method returns kotlinx.coroutines.flow.Flow")
            .hasMessageContaining("Return the result itself, or leave out suspend")
        assertThat(failure<SuspendingFuture>()).hasMessageContaining("CompletableFuture")
            .hasMessageContaining("Return the result itself, or leave out suspend")
        assertThat(failure<Shared>()).hasMessageContaining("Return a Flow itself")
    }

    @Test
    @DisplayName("SKIP is refused for non-null results, and a suspending fallback for functions that do not suspend")
    fun refusedAttributes() {
        assertThat(failure<SkipsNumber>()).hasMessageContaining("SkipsNumber.count(String): onTimeout = SKIP is not possible")
            .hasMessageContaining("Have it return a type that may be null (with ?), or name a fallback")
        assertThat(failure<SkipsText>()).hasMessageContaining("returns java.lang.String, which has no empty value")
        assertThat(failure<PlainWithSuspendingFallback>()).hasMessageContaining("suspends, but the method does not")
        assertThat(failure<UnknownName>()).hasMessageContaining("The method's parameters are #sku")
    }

    @Test
    @DisplayName("Without kotlinx-coroutines-reactor, suspending functions and flows are refused, with the cure")
    fun withoutLibrary() {
        val why = "and kotlinx-coroutines-reactor is not on the class path. Add kotlinx-coroutines-reactor."
        assertThat(failureWithoutLibrary(Suspends::class)).isEqualTo(
            "@DistributedLock on ${Suspends::class.java.name}.sell() would not last until the work is done, " +
                "because the method suspends, $why"
        )
        assertThat(failureWithoutLibrary(Flows::class))
            .contains("because the method returns kotlinx.coroutines.flow.Flow<java.lang.String>, $why")
    }

    private fun failureWithoutLibrary(bean: KClass<*>): String {
        val loader = HidingClassLoader("kotlinx.coroutines.reactor.")
        val former = Thread.currentThread().contextClassLoader
        Thread.currentThread().contextClassLoader = loader
        try {
            return loader.loadClass(Failure::class.java.name).getConstructor(String::class.java)
                .newInstance(bean.java.name).toString()
        } finally {
            Thread.currentThread().contextClassLoader = former
        }
    }

    /** Message of the exception that stops the start of an application with this bean. */
    class Failure(private val type: String) {

        override fun toString(): String =
            LockedContext.refusal(mapOf()) { it.register(Class.forName(type, true, javaClass.classLoader)) }.message.orEmpty()

    }

    private inline fun <reified T> failure(): InvalidDeclarationException =
        LockedContext.refusal(mapOf()) { it.register(T::class.java) }

    open class Shop(private val recorder: RecordingLocks) {

        @Semaphore(name = "sales", limit = 2)
        @DistributedLock(key = "'stock:' + #sku")
        open suspend fun sell(sku: String, count: Int): String {
            recorder.record("begin")
            delay(1)
            recorder.record("end")
            return "sold $count of $sku"
        }

        @DistributedLock(onTimeout = OnTimeout.SKIP)
        open suspend fun nothing() {
            delay(1)
            recorder.record("nothing")
        }

        @DistributedLock(onTimeout = OnTimeout.SKIP)
        open suspend fun nullable(value: String?): String? = value

        @DistributedLock(onTimeout = OnTimeout.SKIP)
        open suspend fun optional(): Optional<String> = Optional.of("some")

        @DistributedLock
        open suspend fun fails() {
            recorder.record("begin")
            delay(1)
            throw IOException("sold out")
        }

        @DistributedLock(key = "#p0 + '-' + #root.args.length") open suspend fun byPlace(sku: String, count: Int) = Unit
        @DistributedLock(name = "counted", condition = "#a0 > 0") open suspend fun onCondition(count: Int) = Unit
        @DistributedLock(key = "#sku") open suspend fun keyed(sku: String?) = Unit

        @DistributedLock(name = "leases")
        open suspend fun leases(): List<LockLease> {
            val first = LockLease.current()
            delay(1)
            val second = LockLease.current()
            val third = withContext(Dispatchers.IO) { LockLease.current() }
            return listOf(first, second, third, ReactiveLeaseContext.current().awaitSingle().lock())
        }

        @Semaphore(name = "permit", limit = 1)
        open suspend fun permit(): String {
            delay(1)
            return PermitLease.current().key()
        }

        @DistributedLock(key = "#sku", fallback = "instead")
        open suspend fun falls(sku: String): String = sku

        private suspend fun instead(sku: String): String {
            delay(1)
            return "instead of $sku"
        }

        @DistributedLock(key = "#sku", fallback = "why")
        open suspend fun fallsWithException(sku: String): String = sku

        private suspend fun why(sku: String, ex: LockNotAcquiredException): String {
            delay(1)
            return "${ex.reason} $sku"
        }

        @DistributedLock(key = "#sku", fallback = "atOnce")
        open suspend fun fallsAtOnce(sku: String): String = sku

        private fun atOnce(sku: String) = "at once $sku"

        @DistributedLock(fallback = "none")
        open suspend fun fallsToNothing(): String? = "some"

        private fun none(): String? = null

        @DistributedLock(key = "#sku", onTimeout = OnTimeout.SKIP)
        open fun flow(sku: String): Flow<String> = flow {
            LockLease.current()
            emit(sku + 1)
            delay(1)
            LockLease.current()
            emit(sku + 2)
            recorder.record("end")
        }

        @DistributedLock(key = "#day.get()", condition = "#day.get() != 'sunday'")
        open fun named(day: AtomicReference<String>): Flow<String?> =
            flow { emit(currentCoroutineContext()[CoroutineName]?.name) }
    }

    open class Overloaded {

        @DistributedLock(key = "#sku + #count")
        @JvmOverloads
        open fun sell(sku: String, count: Int = 1): String = sku + count

    }

    open class Suspends { @DistributedLock open suspend fun sell() = Unit }
    open class Flows { @DistributedLock open fun sell(): Flow<String> = flow { } }
    open class SuspendingFlow { @DistributedLock open suspend fun sell(): Flow<String> = flow { } }
    open class SuspendingFuture { @DistributedLock open suspend fun sell(): CompletableFuture<String> = CompletableFuture() }
    open class Shared { @DistributedLock open fun sell(): SharedFlow<String>? = null }

    open class SkipsNumber {

        @DistributedLock(onTimeout = OnTimeout.SKIP)
        open suspend fun count(name: String): Int = name.length

    }

    open class SkipsText { @DistributedLock(onTimeout = OnTimeout.SKIP) open suspend fun text(): String = "" }

    open class PlainWithSuspendingFallback {

        @DistributedLock(fallback = "later")
        open fun sell(): String = ""

        suspend fun later(): String = ""

    }

    open class UnknownName { @DistributedLock(key = "#skew") open suspend fun sell(sku: String) = Unit }

}
