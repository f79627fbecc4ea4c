package io.holdfast.aop

import io.holdfast.annotation.DistributedLock
import io.holdfast.annotation.Semaphore
import kotlinx.coroutines.CoroutineName
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.retry
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.DisplayName
import org.junit.jupiter.api.Test

/** Keys and conditions of flows that are collected several times. */
internal class RecollectedFlowTests {

    private val context = LockedContext(Day::class.java, Shop::class.java)

    private val locks: RecordingLocks = context.locks()

    private val day: Day = context.bean(Day::class.java)

    private val shop: Shop = context.bean(Shop::class.java)

    @AfterEach
    fun close() = context.close()

    @Test
    @DisplayName("The first collection uses the key of the call; each later collection evaluates the key anew")
    fun key() = runBlocking<Unit> {
        val rows = shop.rows()
        day.today = "tuesday"
        assertThat(rows.toList()).containsExactly("a", "b")
        day.today = "wednesday"
        assertThat(rows.toList()).containsExactly("a", "b")
        assertThat(locks.keys()).containsExactly("monday", "wednesday")
        assertThat(context.semaphores().keys()).containsExactly("monday", "wednesday")
    }

    @Test
    @DisplayName("A flow whose condition is false at the call runs unchanged in its collector's context; a later true condition takes the lock")
    fun condition() = runBlocking<Unit>(CoroutineName("collector")) {
        day.today = "sunday"
        val rows = shop.named()
        assertThat(rows.toList()).containsExactly("collector")
        assertThat(locks.requests()).isEmpty()
        day.today = "monday"
        rows.toList()
        assertThat(locks.events()).containsExactly("lock", "unlock")
        day.today = "sunday"
        assertThat(rows.toList()).containsExactly("collector")
        assertThat(locks.requests()).hasSize(1)
    }

    @Test
    @DisplayName("A failed expression at the call fails the first collection only")
    fun failure() = runBlocking<Unit> {
        day.today = "never"
        val rows = shop.rows()
        assertThat(runCatching { rows.toList() }.exceptionOrNull()).hasMessage("There is no such day")
        day.today = "friday"
        assertThat(rows.toList()).hasSize(2)
        day.today = "never"
        assertThat(rows.retry(1) { day.today = "monday"; true }.toList()).hasSize(2)
        assertThat(locks.keys()).containsExactly("friday", "monday")
    }

    open class Day {

        @Volatile
        var today = "monday"

        fun current(): String = if (today == "never") throw IllegalStateException("There is no such day") else today

    }

    open class Shop {

        @DistributedLock(key = DAY)
        @Semaphore(key = DAY, limit = 1)
        open fun rows(): Flow<String> = flow {
            emit("a")
            emit("b")
        }

        @DistributedLock(key = DAY, condition = "$DAY != 'sunday'")
        open fun named(): Flow<String?> = flow { emit(currentCoroutineContext()[CoroutineName]?.name) }

    }

    private companion object {

        const val DAY = "@'recollectedFlowTests.Day'.current()"

    }

}
