package io.holdfast.async

import io.holdfast.LeaseContext
import io.holdfast.LockLease
import io.holdfast.LockService
import io.holdfast.annotation.DistributedLock
import io.holdfast.guide.Leases
import io.holdfast.testing.TestApplication
import io.holdfast.testing.TestRedis
import io.holdfast.testing.WithRedis
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicLong
import kotlin.coroutines.CoroutineContext
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.MutableSharedFlow
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.flowOn
import kotlinx.coroutines.flow.single
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.future.asCompletableFuture
import kotlinx.coroutines.launch
import kotlinx.coroutines.reactor.awaitSingle
import kotlinx.coroutines.reactor.mono
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.withContext
import org.assertj.core.api.Assertions.assertThat
import org.awaitility.Awaitility.await
import org.junit.jupiter.api.DisplayName
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestInstance
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.EnumSource
import org.springframework.context.annotation.Bean
import org.springframework.context.annotation.Configuration
import org.springframework.context.annotation.Import

/**
 * A coroutine that waits on Dispatchers.Unconfined, as in Spring's handlers, continues within the
 * waking code: on the waker's thread, inside of its scopes. Still the coroutine is not under the
 * waker's lock.
 */
@WithRedis
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
internal class ForeignCoroutineTests(redis: TestRedis) {

    private val instance = TestApplication.start(redis, Application::class.java, "holdfast.redis.command-timeout=5s")

    private val shop = instance.getBean(Shop::class.java)

    private val locks = instance.getBean(LockService::class.java)

    @ParameterizedTest
    @EnumSource
    @DisplayName("A coroutine that a holder wakes waits for the lock, after any kind of signal")
    fun signals(signal: Signal) = wakes(Waker.SUSPENDING, signal, Dispatchers.Unconfined) { shop.sell { it() } }

    @ParameterizedTest
    @EnumSource
    @DisplayName("A woken coroutine waits for the lock, for any way in which the waker holds it")
    fun wakers(waker: Waker) = wakes(waker, Signal.DEFERRED, Dispatchers.Unconfined) { shop.sell { it() } }

    @ParameterizedTest
    @EnumSource
    @DisplayName("A woken collector waits for the lock of a flow, for any way in which the waker holds it")
    fun collectors(waker: Waker) = wakes(waker, Signal.STATE_FLOW, Dispatchers.Unconfined) { entered ->
        shop.rows(entered).toList()
    }

    @Test
    @DisplayName("A woken coroutine that collects a flow on another dispatcher waits for the lock")
    fun collectedElsewhere() = wakes(Waker.BLOCKING, Signal.CHANNEL, Dispatchers.Unconfined) { entered ->
        val rows = shop.rows(entered)
        withContext(Dispatchers.IO) { rows.flowOn(Dispatchers.Default).toList() }
    }

    @Test
    @DisplayName("A woken coroutine of mono {} waits for the lock")
    fun monos() = wakes(Waker.SUSPENDING, Signal.CHANNEL, Dispatchers.Unconfined) { entered ->
        mono(Dispatchers.Unconfined) { shop.sell { entered(); "sold" } }.awaitSingle()
    }

    @Test
    @DisplayName("A coroutine under its own lock that another holder wakes waits for the holder's lock")
    fun underItsOwn() = wakes(Waker.SUSPENDING, Signal.DEFERRED, Dispatchers.Unconfined) { entered ->
        shop.other {
            val woken = Signal.MUTEX.begin()
            val waker = CoroutineScope(Dispatchers.IO).launch { woken.wake() }
            woken.await()
            waker.join()
            assertThat(LockLease.current().key()).isEqualTo("other")
            shop.sell { entered() }
            assertThat(LockLease.current().key()).isEqualTo("other")
        }
    }

    @Test
    @DisplayName("A coroutine that a function starts in a separate scope waits for its lock, and its children do not")
    fun startedApart() {
        val apart = CompletableFuture<Boolean>()
        val own = runBlocking(Dispatchers.Default) {
            shop.sell {
                val holds = AtomicBoolean(true)
                CoroutineScope(Dispatchers.Unconfined).async { shop.sell { apart.complete(holds.get()) } }
                async(Dispatchers.Unconfined) { shop.sell { LockLease.current().fencingToken() } }.await()
                    .also { await().atMost(SOON).until { apart.isDone || waiting() == 1 } }
                    .also { holds.set(false) }
            } as Long
        }
        assertThat(own).isPositive
        assertThat(apart.get(10, TimeUnit.SECONDS)).isFalse
    }

    /** Let a coroutine wait for a signal and then request a lock that the waker holds. */
    private fun wakes(waker: Waker, signal: Signal, context: CoroutineContext, call: suspend (() -> Unit) -> Any?) {
        val entered = AtomicBoolean()
        val wake = signal.begin()
        val woken = CoroutineScope(context).async { wake.await(); call { entered.set(true) } }.asCompletableFuture()
        val enteredByThen = CompletableFuture<Boolean>()
        waker.hold(shop, locks) {
            val own = LockLease.current()
            wake.wake()
            await().atMost(SOON).until { entered.get() || waiting() == 1 || woken.isDone }
            assertThat(LockLease.current()).isSameAs(own)
            enteredByThen.complete(entered.get())
        }
        assertThat(enteredByThen).isCompletedWithValue(false)
        woken.get(10, TimeUnit.SECONDS)
        assertThat(entered).isTrue
        await().atMost(SOON).until { !locks.status("stock").isLocked }
    }

    private fun waiting() = locks.status("stock").waitingInThisInstance()

    @Test
    @DisplayName("Functions and flows that blocking code calls under its lock are nested")
    fun belowBlockingCode() {
        val below = {
            val own = LockLease.current().fencingToken()
            val rows = shop.fences()
            val fences = runBlocking {
                listOf(shop.fence(), shop.fences().single(), rows.single(), async { shop.fence() }.await())
            }
            val takenAlong = runBlocking(Dispatchers.IO + Leases(LeaseContext.current())) {
                delay(1)
                listOf(shop.fence(), shop.fences().single(), withContext(Dispatchers.Default) { shop.fence() }, withContext(Dispatchers.Default) { plainFence() })
            }
            val undispatched = runBlocking {
                withContext(Dispatchers.Unconfined + Leases(LeaseContext.current())) { listOf(shop.fence(), shop.fences().single()) }
            }
            assertThat(fences + takenAlong + undispatched).containsOnly(own)
        }
        shop.plain { below() }
        locks.withLock<RuntimeException>("stock") { below() }
    }

    @Test
    @DisplayName("Functions and flows of a coroutine are nested in its lock, from any part of the coroutine")
    fun withinTheCoroutine() = runBlocking<Unit>(Dispatchers.Default) {
        shop.sell {
            val own = LockLease.current().fencingToken()
            val fences = listOf(
                shop.fence(),
                plainFence(),
                locks.acquire("stock").use { it.fencingToken() },
                withContext(Dispatchers.IO) { locks.acquire("stock").use { it.fencingToken() } },
                shop.fences().single(),
                shop.fences().flowOn(Dispatchers.IO).single(),
                withContext(Dispatchers.IO) { delay(1); shop.fence() },
                withContext(Dispatchers.Unconfined) { delay(1); shop.fence() },
                mono { shop.fence() }.awaitSingle(),
                mono(Dispatchers.Unconfined) { shop.fences().single() }.awaitSingle(),
                runBlocking(Leases(LeaseContext.current())) { shop.fence() },
                runBlocking(Dispatchers.Unconfined + Leases(LeaseContext.current())) { shop.fences().single() }
            ) + List(4) { async(if (it % 2 == 0) Dispatchers.IO else Dispatchers.Unconfined) { shop.fence() } }.awaitAll()
            assertThat(fences).containsOnly(own)
        }
    }

    /** Token in a method that does not suspend. */
    private fun plainFence() = AtomicLong().also { shop.plain { it.set(LockLease.current().fencingToken()) } }.get()

    /** Signal that a coroutine waits for. */
    interface Wake {

        fun wake()

        suspend fun await()

    }

    enum class Signal(private val wake: () -> Wake) {

        STATE_FLOW({
            val state = MutableStateFlow(0)
            wake({ state.value = 1 }, { state.first { it == 1 } })
        }),

        SHARED_FLOW({
            val events = MutableSharedFlow<Int>(extraBufferCapacity = 1)
            wake({ events.tryEmit(1) }, { events.first() })
        }),

        DEFERRED({
            val deferred = CompletableDeferred<Unit>()
            wake({ deferred.complete(Unit) }, { deferred.await() })
        }),

        CHANNEL({
            val channel = Channel<Unit>()
            wake({ channel.trySend(Unit) }, { channel.receive() })
        }),

        MUTEX({
            val mutex = Mutex(locked = true)
            wake({ mutex.unlock() }, { mutex.lock() })
        }),

        JOB({
            val job = Job()
            wake({ job.complete() }, { job.join() })
        });

        fun begin() = wake()

    }

    /** Ways in which the waker holds the lock. */
    enum class Waker(val hold: (Shop, LockService, () -> Unit) -> Unit) {

        SUSPENDING({ shop, _, work -> runBlocking(Dispatchers.Default) { shop.sell { work() } } }),

        IN_CHILD({ shop, _, work ->
            runBlocking(Dispatchers.Default) { shop.sell { withContext(Dispatchers.IO) { async { work() }.await() } } }
        }),

        FLOW({ shop, _, work -> runBlocking { shop.rows(work).toList() } }),

        BLOCKING({ shop, _, work -> shop.plain { work() } }),

        BLOCKING_IN_SUSPENDING({ shop, _, work -> runBlocking(Dispatchers.Default) { shop.sell { shop.plain { work() } } } }),

        SERVICE({ _, locks, work -> locks.withLock<RuntimeException>("stock") { work() } }),

        LATER({ shop, _, work -> shop.later { work() }.join() }),

        TAKEN_ALONG({ _, locks, work ->
            locks.withLock<RuntimeException>("stock") {
                runBlocking(Dispatchers.IO + Leases(LeaseContext.current())) { delay(1); work() }
            }
        })

    }

    private companion object {

        val SOON: Duration = Duration.ofSeconds(10)

        fun wake(wake: () -> Unit, await: suspend () -> Unit) = object : Wake {

            override fun wake() = wake()

            override suspend fun await() = await()

        }

    }

    open class Shop {

        @DistributedLock(name = "stock", waitTime = "20s")
        open suspend fun sell(work: suspend CoroutineScope.() -> Any?): Any? = coroutineScope(work)

        @DistributedLock(name = "stock", waitTime = "20s")
        open fun rows(work: () -> Unit): Flow<Int> = flow { withContext(Dispatchers.IO) { work() }; emit(1) }

        @DistributedLock(name = "stock", waitTime = "20s")
        open fun plain(work: () -> Unit) = work()

        @DistributedLock(name = "stock", waitTime = "20s")
        open fun later(work: () -> Unit): CompletableFuture<Unit> = CompletableFuture.completedFuture(work())

        @DistributedLock(name = "other", waitTime = "20s")
        open suspend fun other(work: suspend () -> Unit) = work()

        @DistributedLock(name = "stock", waitTime = "1s")
        open suspend fun fence(): Long {
            delay(1)
            return LockLease.current().fencingToken()
        }

        @DistributedLock(name = "stock", waitTime = "1s")
        open fun fences(): Flow<Long> = flow { emit(LockLease.current().fencingToken()) }

    }

    @Configuration(proxyBeanMethods = false)
    @Import(TestApplication::class)
    open class Application {

        @Bean
        open fun shop() = Shop()

    }

}
