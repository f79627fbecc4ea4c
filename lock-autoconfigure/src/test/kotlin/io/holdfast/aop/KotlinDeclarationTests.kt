package io.holdfast.aop

import io.holdfast.annotation.DistributedLock
import io.holdfast.annotation.OnTimeout
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.asFlow
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.DisplayName
import org.junit.jupiter.api.Test

/** Annotated functions with features of Kotlin that Java lacks. */
internal class KotlinDeclarationTests {

    @Test
    @DisplayName("A flow may have null elements, and so may the flow of its fallback")
    fun nullElements() = runBlocking<Unit> {
        LockedContext(WithNulls::class.java).use { context ->
            val bean = context.bean(WithNulls::class.java)
            assertThat(bean.numbers().toList()).containsExactly(1, null, 3, null)
            assertThat(context.locks().events()).containsExactly("lock", "unlock")
            context.locks().busy()
            assertThat(bean.numbers().toList()).containsExactly(null, 2)
        }
    }

    @Test
    @DisplayName("A plain function with a non-null result refuses SKIP and a fallback that may return null")
    fun neverNull() {
        assertThat(failure<SkipsText>())
            .hasMessageContaining("SkipsText.text(): onTimeout = SKIP is not possible, because the method returns java.lang.String")
            .hasMessageContaining("Have it return a type that may be null (with ?), or name a fallback")
        assertThat(failure<FallsToNull>())
            .hasMessageContaining("FallsToNull.text(): fallback = \"none\" may return null, but the method never does")
            .hasMessageContaining("Have both return the same")
        assertThat(failure<FallsToNullLater>()).hasMessageContaining("fallback = \"none\" may return null, but the method never does")
        LockedContext(SkipsNull::class.java).use { context ->
            context.locks().busy()
            assertThat(context.bean(SkipsNull::class.java).text()).isNull()
            context.bean(SkipsNull::class.java).nothing()
        }
    }

    @Test
    @DisplayName("Kotlin results with later work are refused, with the cure")
    fun openEnded() {
        assertThat(failure<Jobs>()).hasMessageContaining("because the method returns kotlinx.coroutines.Job")
            .hasMessageContaining("Return the result itself, from a suspending function, or annotate the method that does the work")
        assertThat(failure<Deferreds>()).hasMessageContaining("because the method returns kotlinx.coroutines.Deferred<java.lang.String>")
            .hasMessageContaining("Return the result itself, from a suspending function, or annotate")
        assertThat(failure<SuspendingJobs>()).hasMessageContaining("because the method returns kotlinx.coroutines.Job")
            .hasMessageContaining("Return the result itself, or annotate the method that does the work")
        assertThat(failure<Channels>()).hasMessageContaining("Return a Flow, or annotate")
        assertThat(failure<Lazies>()).hasMessageContaining("Return the result itself, or annotate")
        assertThat(failure<Functions>()).hasMessageContaining("Return the result itself, or annotate")
        assertThat(failure<SuspendingFunctions>()).hasMessageContaining("Return the result itself, or annotate")
        assertThat(failure<SuspendingSequences>()).hasMessageContaining("Return the result itself, or annotate")
    }

    @Test
    @DisplayName("An implementation of a generic function for a primitive type has the annotation of the generic function")
    fun genericForPrimitive() = runBlocking<Unit> {
        LockedContext(Implementing::class.java, Extending::class.java, Inheriting::class.java).use { context ->
            val implementing = context.bean(Implementing::class.java)
            implementing.suspending(1)
            implementing.plain(2L)
            implementing.plain(0)
            (implementing as Generic<Long>).plain(3)
            context.bean(Extending::class.java).plain(4)
            context.bean(Extending::class.java).suspending(5)
            context.bean(Inheriting::class.java).plain(6)
            assertThat(context.locks().keys()).containsExactly("s1", "p2", "p3", "b4", "c5", "p6")
        }
        LockedContext({}, mapOf()) { it.register(Implementing::class.java) }.use { context ->
            @Suppress("UNCHECKED_CAST")
            val generic = context.bean(Generic::class.java) as Generic<Long>
            generic.suspending(1)
            generic.plain(2)
            assertThat(context.locks().keys()).containsExactly("s1", "p2")
        }
    }

    @Test
    @DisplayName("Messages name the cure in Kotlin")
    fun messages() {
        assertThat(failure<Extension>()).hasMessageContaining("The method's parameters are #p0 for the receiver, #count")
        assertThat(failure<Closed>()).hasMessageContaining("in Kotlin: declare it and its methods open")
            .hasMessageContaining("not for those of @Bean methods")
    }

    private inline fun <reified T : Any> failure() = LockedContext.refusal(mapOf()) { it.register(T::class.java) }

    open class WithNulls {

        @DistributedLock(fallback = "others")
        open fun numbers(): Flow<Int?> = listOf(1, null, 3, null).asFlow()

        private fun others(): Flow<Int?> = listOf(null, 2).asFlow()

    }

    open class SkipsText { @DistributedLock(onTimeout = OnTimeout.SKIP) open fun text(): String = "" }

    open class SkipsNull {

        @DistributedLock(onTimeout = OnTimeout.SKIP)
        open fun text(): String? = ""

        @DistributedLock(onTimeout = OnTimeout.SKIP)
        open fun nothing() = Unit

    }

    open class FallsToNull {

        @DistributedLock(fallback = "none")
        open fun text(): String = ""

        private fun none(): String? = null

    }

    open class FallsToNullLater {

        @DistributedLock(fallback = "none")
        open suspend fun text(): String = ""

        private suspend fun none(): String? = null

    }

    open class Jobs { @DistributedLock open fun work(): Job = CoroutineScope(Dispatchers.Default).launch { } }
    open class Deferreds { @DistributedLock open fun work(): Deferred<String> = CoroutineScope(Dispatchers.Default).async { "" } }
    open class SuspendingJobs { @DistributedLock open suspend fun work(): Job = Job() }
    open class Channels { @DistributedLock open fun work(): ReceiveChannel<String> = Channel() }
    open class Lazies { @DistributedLock open fun work(): Lazy<String> = lazy { "" } }
    open class Functions { @DistributedLock open fun work(): () -> String = { "" } }
    open class SuspendingFunctions { @DistributedLock open fun work(): suspend (Int) -> String = { "" } }
    open class SuspendingSequences { @DistributedLock open suspend fun work(): Sequence<String> = sequenceOf() }

    interface Generic<T> {

        @DistributedLock(key = "'s' + #id")
        suspend fun suspending(id: T): String

        @DistributedLock(key = "'p' + #id")
        fun plain(id: T): String

    }

    open class Implementing : Generic<Long> {

        override suspend fun suspending(id: Long) = "$id"

        override fun plain(id: Long) = "$id"

        open fun plain(id: Int) = "of no interface $id"

    }

    abstract class Base<T> {

        @DistributedLock(key = "'b' + #id")
        abstract fun plain(id: T): String

        @DistributedLock(key = "'c' + #id")
        abstract suspend fun suspending(id: T): String

    }

    open class Extending : Base<Int>() {

        override fun plain(id: Int) = "$id"

        override suspend fun suspending(id: Int) = "$id"

    }

    open class Unaware {

        open fun plain(id: Long) = "$id"

        open suspend fun suspending(id: Long) = "$id"

    }

    open class Inheriting : Unaware(), Generic<Long>

    open class Extension { @DistributedLock(key = "#receiver") open fun String.sell(count: Int) = this + count }
    class Closed { @DistributedLock fun sell() = Unit }

}
