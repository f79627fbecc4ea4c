package io.holdfast.async

import io.holdfast.LockLease
import io.holdfast.LockNotAcquiredException
import io.holdfast.LockService
import io.holdfast.annotation.DistributedLock
import io.holdfast.annotation.OnTimeout
import io.holdfast.testing.TestApplication
import io.holdfast.testing.TestRedis
import io.holdfast.testing.WithRedis
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.Executors
import java.util.concurrent.atomic.AtomicInteger
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.future.await
import kotlinx.coroutines.future.future
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import org.assertj.core.api.Assertions.assertThat
import org.awaitility.Awaitility.await
import org.junit.jupiter.api.DisplayName
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestInstance
import org.junit.jupiter.api.extension.ExtendWith
import org.springframework.boot.test.system.CapturedOutput
import org.springframework.boot.test.system.OutputCaptureExtension
import org.springframework.context.annotation.Bean
import org.springframework.context.annotation.Configuration
import org.springframework.context.annotation.Import

/** Suspending functions of two instances of an application with a common Redis. */
@WithRedis
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@ExtendWith(OutputCaptureExtension::class)
internal class CoroutineTests(private val redis: TestRedis) {

    private val instances = List(2) {
        TestApplication.start(redis, Application::class.java, "holdfast.redis.command-timeout=5s")
    }

    private val shops = instances.map { it.getBean(Shop::class.java) }

    private val locks = instances[1].getBean(LockService::class.java)

    private fun awaitFree(key: String) = await().atMost(SOON).until { !locks.status(key).isLocked }

    private fun waiting() = locks.status("stock:a").waiting()

    @Test
    @DisplayName("Coroutines of all instances exclude each other")
    fun exclusion() = runBlocking<Unit>(Dispatchers.Default) {
        val inside = AtomicInteger()
        val most = AtomicInteger()
        val calls = List(40) { i ->
            async {
                shops[i % 2].sell("a") {
                    most.accumulateAndGet(inside.incrementAndGet(), Math::max)
                    yield()
                    delay(1)
                    inside.decrementAndGet()
                }
            }
        }
        calls.awaitAll()
        assertThat(most).hasValue(1)
    }

    @Test
    @DisplayName("A waiting coroutine frees its thread: a single thread is enough for holder and waiters")
    fun waitingDoesNotBlock() {
        Executors.newSingleThreadExecutor().asCoroutineDispatcher().use { single ->
            runBlocking(single) {
                val begun = CompletableDeferred<Unit>()
                val go = CompletableDeferred<Unit>()
                val holder = async { shops[0].sell("a") { begun.complete(Unit); go.await() } }
                begun.await()
                val waiting = List(3) { async { shops[it % 2].sell("a") { } } }
                while (waiting() == 0) {
                    yield()
                }
                go.complete(Unit)
                (waiting + holder).awaitAll()
            }
        }
    }

    @Test
    @DisplayName("The minHold of a lock does not apply to a failed or cancelled function, and applies to a successful function")
    fun minHold() = runBlocking<Unit> {
        assertThat(runCatching { shops[0].job { error("failed") } }.exceptionOrNull()).hasMessage("failed")
        awaitFree("job")
        val begun = CompletableDeferred<Unit>()
        val running = async { shops[1].job { begun.complete(Unit); delay(Long.MAX_VALUE) } }
        begun.await()
        running.cancelAndJoin()
        awaitFree("job")
        assertThat(shops[0].job { }).isEqualTo("done")
        assertThat(shops[1].job { }).isNull()
    }

    @Test
    @DisplayName("A coroutine that is cancelled during its wait leaves the queue, and never runs")
    fun cancelledWhileWaiting() = runBlocking<Unit>(Dispatchers.Default) {
        val other = locks.acquire("stock:a")
        val ran = AtomicInteger()
        val waiting = launch { shops[0].sell("a") { ran.incrementAndGet() } }
        await().atMost(SOON).until { waiting() == 1 }
        waiting.cancelAndJoin()
        await().atMost(SOON).until { waiting() == 0 }
        other.release()
        shops[0].sell("a") { }
        assertThat(ran).hasValue(0)
    }

    @Test
    @DisplayName("A coroutine that is cancelled at the moment of its grant leaves no lock behind")
    fun cancelledWhenGranted() = runBlocking<Unit>(Dispatchers.Default) {
        repeat(50) {
            val other = locks.acquire("stock:a")
            val waiting = launch { shops[0].sell("a") { } }
            while (waiting() == 0) {
                yield()
            }
            val release = launch { other.release() }
            waiting.cancel()
            joinAll(waiting, release)
            shops[1].sell("a") { }
        }
    }

    @Test
    @DisplayName("A coroutine that is cancelled under its lock first ends its work, and then releases the lock")
    fun cancelledWhileHolding() = runBlocking<Unit>(Dispatchers.Default) {
        val begun = CompletableDeferred<Unit>()
        val cleaning = CompletableDeferred<Unit>()
        val go = CompletableDeferred<Unit>()
        val lockedAtEnd = CompletableDeferred<Boolean>()
        val holding = launch {
            shops[0].sell("a") {
                begun.complete(Unit)
                try {
                    delay(Long.MAX_VALUE)
                } finally {
                    withContext(NonCancellable) {
                        cleaning.complete(Unit)
                        go.await()
                        lockedAtEnd.complete(locks.status("stock:a").isLocked && LockLease.current().isHeld)
                    }
                }
            }
        }
        begun.await()
        holding.cancelAndJoin()
        cleaning.await()
        val next = async { shops[1].sell("a") { lockedAtEnd.isCompleted } }
        await().atMost(SOON).until { waiting() == 1 }
        go.complete(Unit)
        assertThat(next.await()).isEqualTo(true)
        assertThat(lockedAtEnd.await()).isTrue
        awaitFree("stock:a")
    }

    @Test
    @DisplayName("A coroutine that is cancelled while it awaits a future continues at once, and the lock lasts until the end of the work")
    fun cancelledWhileAwaiting() = runBlocking<Unit>(Dispatchers.Default) {
        val scope = CoroutineScope(Dispatchers.Default)
        val calls = listOf<suspend (suspend CoroutineScope.() -> String) -> String>(
            { work -> shops[0].later("a") { scope.future(block = work) }.await() },
            { work -> instances[0].getBean(LockService::class.java).withLockAsync("stock:a") { scope.future(block = work) }.await() }
        )
        for (call in calls) {
            val begun = CompletableDeferred<Unit>()
            val go = CompletableDeferred<Unit>()
            val awaiting = launch { call { begun.complete(Unit); go.await(); "done" } }
            begun.await()
            awaiting.cancelAndJoin()
            val next = async { shops[1].sell("a") { go.isCompleted } }
            await().atMost(SOON).until { waiting() == 1 }
            go.complete(Unit)
            assertThat(next.await()).isEqualTo(true)
            awaitFree("stock:a")
        }
    }

    @Test
    @DisplayName("withTimeout ends a wait and a function, each with its own exception")
    fun timeouts() = runBlocking<Unit>(Dispatchers.Default) {
        val other = locks.acquire("stock:a")
        val late = runCatching { withTimeout(50) { shops[0].sell("a") { } } }
        assertThat(late.exceptionOrNull()).isInstanceOf(TimeoutCancellationException::class.java)
        val notAcquired = runCatching { shops[0].sellSoon("a") }
        assertThat(notAcquired.exceptionOrNull()).isInstanceOf(LockNotAcquiredException::class.java)
        other.release()
        val slow = runCatching { withTimeout(200) { shops[0].sell("a") { delay(Long.MAX_VALUE) } } }
        assertThat(slow.exceptionOrNull()).isInstanceOf(TimeoutCancellationException::class.java)
        awaitFree("stock:a")
        assertThat(shops[1].sell("a") { "sold" }).isEqualTo("sold")
    }

    @Test
    @DisplayName("The place of a lock that is held for too long is the function's caller, or the flow's collector")
    fun heldForTooLong(output: CapturedOutput) {
        TestApplication.start(redis, Application::class.java, "holdfast.leak-detection-threshold=100ms").use { context ->
            val shop = context.getBean(Shop::class.java)
            runBlocking {
                shop.sell("a") { await().atMost(SOON).until { output.out.contains("Lock 'stock:a' (") } }
                shop.numbers().first { output.out.contains("Lock 'numbers' (") }
            }
        }
        val places = Regex(" is still held after .* at (\\S+)\\.invokeSuspend\\(").findAll(output.out).map { it.groupValues[1] }
        assertThat(places.toList()).hasSize(2).allMatch { it.startsWith(CoroutineTests::class.java.name) }
    }

    private companion object {

        val SOON: Duration = Duration.ofSeconds(10)

    }

    open class Shop {

        @DistributedLock(key = "'stock:' + #sku", waitTime = "20s")
        open suspend fun sell(sku: String, work: suspend () -> Any?): Any? = work()

        @DistributedLock(key = "'stock:' + #sku", waitTime = "50ms")
        open suspend fun sellSoon(sku: String): String = sku

        @DistributedLock(key = "'stock:' + #sku", waitTime = "20s")
        open fun later(sku: String, work: () -> CompletableFuture<String>): CompletableFuture<String> = work()

        @DistributedLock(name = "job", waitTime = "0", minHold = "1m", onTimeout = OnTimeout.SKIP)
        open suspend fun job(body: suspend () -> Unit): String? {
            body()
            return "done"
        }

        @DistributedLock(name = "numbers")
        open fun numbers(): Flow<Int> = flow {
            var i = 0
            while (LockLease.current().isHeld) {
                emit(++i)
                delay(1)
            }
        }

    }

    @Configuration(proxyBeanMethods = false)
    @Import(TestApplication::class)
    open class Application {

        @Bean
        open fun shop() = Shop()

    }

}
