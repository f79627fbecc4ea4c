package io.holdfast.async

import io.holdfast.KeyNamespace
import io.holdfast.LeaseContext
import io.holdfast.LockLease
import io.holdfast.LockRequest
import io.holdfast.LockService
import io.holdfast.NotAcquiredException
import io.holdfast.NotAcquiredStrategy
import io.holdfast.SemaphoreService
import io.holdfast.annotation.DistributedLock
import io.holdfast.annotation.Semaphore
import io.holdfast.testing.CallScope
import io.holdfast.testing.TestApplication
import io.holdfast.testing.TestRedis
import io.holdfast.testing.WithRedis
import java.io.IOException
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.Executors
import java.util.concurrent.ThreadLocalRandom
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicReference
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineName
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.asContextElement
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.SharingStarted
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.flowOn
import kotlinx.coroutines.flow.retry
import kotlinx.coroutines.flow.shareIn
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.isActive
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import org.assertj.core.api.Assertions.assertThat
import org.awaitility.Awaitility.await
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.DisplayName
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestInstance
import org.springframework.beans.factory.config.CustomScopeConfigurer
import org.springframework.context.annotation.Bean
import org.springframework.context.annotation.Configuration
import org.springframework.context.annotation.Import
import org.springframework.context.annotation.Scope

/** Suspending functions and flows that fail, are cancelled, or are used in unusual ways. */
@WithRedis
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
internal class CoroutineFaultTests(redis: TestRedis) {

    private val instance = TestApplication.start(redis, Application::class.java, "holdfast.redis.command-timeout=5s")

    private val shop = instance.getBean(Shop::class.java)

    private val locks = instance.getBean(LockService::class.java)

    @AfterEach
    fun leave() = TENANT.remove()

    private fun isLocked(key: String) = locks.status(key).isLocked

    private fun awaitFree(key: String) = await().atMost(SOON).until { !isLocked(key) }

    @Test
    @DisplayName("A flow has its lock until its collector is done with the last element")
    fun collectorUnderTheLock() = runBlocking<Unit>(Dispatchers.Default) {
        val locked = mutableListOf<Boolean>()
        shop.numbers(3).collect {
            delay(20)
            locked += isLocked("numbers")
        }
        assertThat(locked).containsExactly(true, true, true)
        awaitFree("numbers")
    }

    @Test
    @DisplayName("A flow does not run ahead of its collector")
    fun inStep() = runBlocking<Unit>(Dispatchers.Default) {
        val behind = mutableListOf<Int>()
        val emitted = AtomicInteger()
        shop.numbers(5) { emitted.set(it) }.collect {
            delay(10)
            behind += emitted.get() - it
        }
        assertThat(behind).containsExactly(0, 0, 0, 0, 0)
    }

    @Test
    @DisplayName("A collector's exception passes the flow unchanged, and ends its lock")
    fun failingCollector() = runBlocking<Unit>(Dispatchers.Default) {
        val thrown = runCatching { shop.numbers(3).collect { throw IOException("no space") } }
        assertThat(thrown.exceptionOrNull()).isInstanceOf(IOException::class.java).hasMessage("no space")
        awaitFree("numbers")
    }

    @Test
    @DisplayName("A failed flow has released its lock, and a retry acquires anew")
    fun retried() = runBlocking<Unit>(Dispatchers.Default) {
        val fences = mutableListOf<Long>()
        val attempts = AtomicInteger()
        val found = shop.numbers(2) {
            if (it == 1) {
                fences += LockLease.current().fencingToken()
            } else if (attempts.incrementAndGet() < 3) {
                throw IOException("again")
            }
        }.retry(5).toList()
        assertThat(found).containsExactly(1, 1, 1, 2)
        assertThat(fences).hasSize(3).doesNotHaveDuplicates()
        awaitFree("numbers")
    }

    @Test
    @DisplayName("Two concurrent collections of a flow run in turn; a flow without a collection locks nothing")
    fun collectedTwice() = runBlocking<Unit>(Dispatchers.Default) {
        val inside = AtomicInteger()
        val most = AtomicInteger()
        val flow = shop.numbers(5) {
            most.accumulateAndGet(if (it == 1) inside.incrementAndGet() else inside.get(), Math::max)
            if (it == 5) {
                inside.decrementAndGet()
            }
        }
        shop.numbers(1)
        awaitFree("numbers")
        val found = List(4) { async(if (it % 2 == 0) Dispatchers.IO else Dispatchers.Default) { flow.toList() } }.awaitAll()
        assertThat(found).containsOnly(listOf(1, 2, 3, 4, 5))
        assertThat(most).hasValue(1)
    }

    @Test
    @DisplayName("A flow may run on another dispatcher, and in the scope of a shared flow, whose end releases its lock")
    fun otherScope() = runBlocking<Unit>(Dispatchers.Default) {
        assertThat(shop.numbers(3).flowOn(Dispatchers.IO).toList()).containsExactly(1, 2, 3)
        val job = Job()
        val shared = shop.numbers(Int.MAX_VALUE).shareIn(CoroutineScope(Dispatchers.IO + job), SharingStarted.Lazily)
        awaitFree("numbers")
        shared.first()
        assertThat(isLocked("numbers")).isTrue
        job.cancelAndJoin()
        awaitFree("numbers")
    }

    @Test
    @DisplayName("A flow that is cancelled during the wait for its lock leaves the queue")
    fun cancelledWhileWaiting() = runBlocking<Unit>(Dispatchers.Default) {
        val other = locks.acquireAsync(LockRequest.of("numbers")).await()
        val waiting = launch { shop.numbers(1).toList() }
        await().atMost(SOON).until { locks.status("numbers").waitingInThisInstance() == 1 }
        waiting.cancelAndJoin()
        await().atMost(SOON).until { locks.status("numbers").waitingInThisInstance() == 0 }
        other.close()
        awaitFree("numbers")
    }

    @Test
    @DisplayName("A timeout or a cancellation inside of a function is its exception, and does not cancel the caller")
    fun timeoutInside() = runBlocking<Unit>(Dispatchers.Default) {
        val late = runCatching { shop.sell { withTimeout(20) { delay(Long.MAX_VALUE) } } }
        assertThat(late.exceptionOrNull()).isInstanceOf(TimeoutCancellationException::class.java)
        val cancelled = runCatching { shop.sell { throw CancellationException("enough") } }
        assertThat(cancelled.exceptionOrNull()).isInstanceOf(CancellationException::class.java).hasMessage("enough")
        assertThat(currentCoroutineContext().isActive).isTrue
        awaitFree("stock")
        assertThat(shop.sell { "sold" }).isEqualTo("sold")
    }

    @Test
    @DisplayName("A failed child cancels the function and its other children before the lock is free")
    fun failingChild() = runBlocking<Unit>(Dispatchers.Default) {
        val lockedAtEnd = CompletableDeferred<Boolean>()
        val thrown = runCatching {
            shop.sell {
                coroutineScope {
                    launch {
                        try {
                            delay(Long.MAX_VALUE)
                        } finally {
                            lockedAtEnd.complete(isLocked("stock"))
                        }
                    }
                    launch { delay(5); throw IOException("child") }
                }
            }
        }
        assertThat(thrown.exceptionOrNull()).isInstanceOf(IOException::class.java).hasMessage("child")
        assertThat(lockedAtEnd.await()).isTrue
        awaitFree("stock")
    }

    @Test
    @DisplayName("A function runs in the caller's dispatcher and context, and the caller continues there")
    fun callersContext() {
        Executors.newSingleThreadExecutor { Thread(it, "only-one") }.asCoroutineDispatcher().use { single ->
            runBlocking(single + CoroutineName("caller") + TENANT.asContextElement("acme")) {
                val found = shop.sell {
                    delay(1)
                    val first = listOf(Thread.currentThread().name, currentCoroutineContext()[CoroutineName]?.name, TENANT.get())
                    withContext(Dispatchers.IO) { TENANT.get() + LockLease.current().key() }.let { first + it }
                } as List<*>
                assertThat(found[0].toString()).startsWith("only-one")
                assertThat(found.drop(1)).containsExactly("caller", "acme", "acmeacme:stock")
                assertThat(Thread.currentThread().name).startsWith("only-one")
                assertThat(TENANT.get()).isEqualTo("acme")
                assertThat(LeaseContext.current().leases()).isEmpty()
            }
        }
    }

    @Test
    @DisplayName("A coroutine that outlives its function loses its lock, and acquires a new one")
    fun outlives() = runBlocking<Unit>(Dispatchers.Default) {
        val go = CompletableDeferred<Unit>()
        val job = Job()
        lateinit var fences: List<Long>
        val outliving = shop.sell {
            val own = LockLease.current().fencingToken()
            CoroutineScope(currentCoroutineContext() + job).async {
                go.await()
                val held = LockLease.current().isHeld
                fences = listOf(own, locks.acquireAsync(LockRequest.of("stock").within(LeaseContext.current())).await()
                    .use { it.fencingToken() })
                held
            }
        } as Deferred<*>
        awaitFree("stock")
        go.complete(Unit)
        assertThat(outliving.await()).isEqualTo(false)
        assertThat(fences[1]).isGreaterThan(fences[0])
        awaitFree("stock")
    }

    @Test
    @DisplayName("Cancellations at any moment break neither exclusion nor limits, and leave no lease on any thread")
    fun storm() = runBlocking<Unit>(Dispatchers.Default) {
        val inside = AtomicInteger()
        val most = AtomicInteger()
        val permits = AtomicInteger()
        val mostPermits = AtomicInteger()
        List(200) { i ->
            launch {
                val call = launch {
                    if (i % 2 == 0) {
                        shop.sell { counted(inside, most) }
                    } else {
                        shop.limited { counted(permits, mostPermits) }
                    }
                }
                delay(ThreadLocalRandom.current().nextLong(60))
                call.cancelAndJoin()
            }
        }.joinAll()
        assertThat(most.get()).isLessThanOrEqualTo(1)
        assertThat(mostPermits.get()).isLessThanOrEqualTo(3)
        awaitFree("stock")
        assertThat(shop.sell { "sold" }).isEqualTo("sold")
        assertThat(shop.limited { }).isEqualTo(Unit)
        val semaphores = instance.getBean(SemaphoreService::class.java)
        await().atMost(SOON).until { semaphores.status("limited").used() == 0 }
        val left = ConcurrentLinkedQueue<Any>()
        List(64) { async { left.add(LeaseContext.current().leases()); delay(1) } }.awaitAll()
        assertThat(left).containsOnly(emptyList<Any>())
    }

    private suspend fun counted(inside: AtomicInteger, most: AtomicInteger) {
        most.accumulateAndGet(inside.incrementAndGet(), Math::max)
        try {
            delay(1)
        } finally {
            inside.decrementAndGet()
        }
    }

    @Test
    @DisplayName("The NotAcquiredStrategy of the call returns the result itself; a wrong type is refused, with the right one")
    fun strategy() = runBlocking<Unit>(Dispatchers.Default + TENANT.asContextElement("acme")) {
        locks.acquireAsync(LockRequest.of("busy")).await().use {
            ANSWER.set { "instead" }
            assertThat(shop.busy()).isEqualTo("instead")
            assertThat(shop.busyOrNull()).isEqualTo("instead")
            ANSWER.set { null }
            assertThat(shop.busyOrNull()).isNull()
            shop.busyUnit()
            assertThat(runCatching { shop.busy() }.exceptionOrNull()).isInstanceOf(IllegalStateException::class.java)
                .hasMessageContaining("gave null").hasMessageContaining("give a java.lang.String itself, or throw")
            ANSWER.set { 1 }
            assertThat(runCatching { shop.busy() }.exceptionOrNull()).isInstanceOf(IllegalStateException::class.java)
                .hasMessageContaining("gave a java.lang.Integer")
            assertThat(shop.busyNumber()).isEqualTo(1)
            shop.busyUnit()
            ANSWER.set { throw IOException("busy") }
            assertThat(runCatching { shop.busy() }.exceptionOrNull()).isInstanceOf(IOException::class.java)
            assertThat(runCatching { shop.busyFlow().toList() }.exceptionOrNull()).isInstanceOf(IOException::class.java)
            ANSWER.set { flow { emit("flow") } }
            assertThat(shop.busyFlow().toList()).containsExactly("flow")
        }
    }

    @Test
    @DisplayName("An exception of a namespace fails the function and the collector of a flow, and locks nothing")
    fun namespace() = runBlocking<Unit>(Dispatchers.Default + TENANT.asContextElement("missing")) {
        val ran = AtomicInteger()
        assertThat(runCatching { shop.sell { ran.incrementAndGet() } }.exceptionOrNull())
            .isInstanceOf(IllegalStateException::class.java).hasMessage("There is no tenant")
        val flow = shop.numbers(1) { ran.incrementAndGet() }
        assertThat(runCatching { flow.toList() }.exceptionOrNull()).hasMessage("There is no tenant")
        assertThat(ran).hasValue(0)
        withContext(TENANT.asContextElement("acme")) {
            shop.sell { assertThat(LockLease.current().key()).isEqualTo("acme:stock") }
        }
    }

    private companion object {

        val SOON: Duration = Duration.ofSeconds(10)

        val TENANT = ThreadLocal<String?>()

        val ANSWER = AtomicReference<() -> Any?>()

        suspend fun <T> CompletableFuture<T>.await(): T = withContext(Dispatchers.IO) { join() }

    }

    open class Shop {

        @DistributedLock(name = "numbers", waitTime = "20s")
        open fun numbers(count: Int, each: suspend (Int) -> Unit = { }): Flow<Int> = flow {
            for (i in 1..count) {
                each(i)
                emit(i)
                delay(1)
            }
        }

        @DistributedLock(name = "stock", waitTime = "20s")
        open suspend fun sell(work: suspend () -> Any?): Any? = work()

        @Semaphore(name = "limited", limit = 3, waitTime = "20s")
        open suspend fun limited(work: suspend () -> Unit) = work()

        @DistributedLock(name = "busy", waitTime = "0")
        open suspend fun busy(): String = "had it"

        @DistributedLock(name = "busy", waitTime = "0")
        open suspend fun busyOrNull(): String? = "had it"

        @DistributedLock(name = "busy", waitTime = "0")
        open suspend fun busyNumber(): Int = 0

        @DistributedLock(name = "busy", waitTime = "0")
        open suspend fun busyUnit() = Unit

        @DistributedLock(name = "busy", waitTime = "0")
        open fun busyFlow(): Flow<String> = flow { emit("had it") }

    }

    @Configuration(proxyBeanMethods = false)
    @Import(TestApplication::class)
    open class Application {

        @Bean
        open fun shop() = Shop()

        @Bean
        open fun namespace() = KeyNamespace {
            val tenant = TENANT.get() ?: ""
            check(tenant != "missing") { "There is no tenant" }
            tenant
        }

        @Bean
        open fun scope() = CustomScopeConfigurer().apply { addScope("tenant", CallScope { checkNotNull(TENANT.get()) }) }

        @Bean
        @Scope("tenant")
        open fun strategy() = NotAcquiredStrategy { _, ex: NotAcquiredException -> (ANSWER.get() ?: throw ex)() }

    }

}
