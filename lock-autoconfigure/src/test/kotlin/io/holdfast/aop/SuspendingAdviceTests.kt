package io.holdfast.aop

import io.holdfast.HoldfastException
import io.holdfast.LeaseLostException
import io.holdfast.LeaseStoreException
import io.holdfast.PermitLease
import io.holdfast.annotation.DistributedLock
import io.holdfast.annotation.OnLoss
import io.holdfast.annotation.OnStoreFailure
import io.holdfast.annotation.Semaphore
import io.holdfast.testing.ReactiveTestTransactions
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import org.aopalliance.intercept.MethodInterceptor
import org.aopalliance.intercept.MethodInvocation
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.DisplayName
import org.junit.jupiter.api.Test
import org.springframework.aop.framework.ProxyFactory
import org.springframework.beans.factory.annotation.Qualifier
import org.springframework.context.annotation.Bean
import org.springframework.context.annotation.Configuration
import org.springframework.transaction.annotation.EnableTransactionManagement
import org.springframework.transaction.annotation.Transactional
import org.springframework.transaction.reactive.TransactionalOperator
import org.springframework.transaction.reactive.executeAndAwait

/** Suspending functions under losses, failures of the store, transactions, and two proxies. */
internal class SuspendingAdviceTests {

    private val context = LockedContext(Shop::class.java, Application::class.java)

    private val locks: RecordingLocks = context.locks()

    private val shop: Shop = context.bean(Shop::class.java)

    @AfterEach
    fun close() = context.close()

    @Test
    @DisplayName("A lost lease cancels the function with INTERRUPT, and replaces its result with THROW")
    fun losses() = runBlocking<Unit> {
        assertThat(shop.notifying()).isEqualTo("done")
        locks.forget()
        assertThat(runCatching { shop.throwing() }.exceptionOrNull()).isInstanceOf(LeaseLostException::class.java)
        assertThat(locks.events()).containsExactly("lock", "done", "unlock")
        locks.forget()
        assertThat(runCatching { shop.interrupting() }.exceptionOrNull()).isInstanceOf(LeaseLostException::class.java)
        assertThat(locks.events()).containsExactly("lock", "cancelled", "unlock")
    }

    @Test
    @DisplayName("While the store fails, a fallback gives the result, or permits are not required")
    fun storeFailure() = runBlocking<Unit> {
        locks.failing(LeaseStoreException("key", "no answer", null))
        assertThat(shop.falls()).isEqualTo("LeaseStoreException")
        assertThat(runCatching { shop.throwing() }.exceptionOrNull()).isInstanceOf(LeaseStoreException::class.java)
    }

    @Test
    @DisplayName("The function's transaction is inside of its lock, and the caller's transaction keeps the lock")
    fun transactions() = runBlocking<Unit> {
        assertThat(shop.transactional()).isEqualTo("sold")
        assertThat(locks.events()).containsExactly("lock", "begin", "body", "commit", "unlock")
        locks.forget()
        val transaction = TransactionalOperator.create(context.bean(ReactiveTestTransactions::class.java))
        transaction.executeAndAwait { shop.transactional() }
        // The function's own events are counted too, as this manager does not join
        // transactions.
        assertThat(locks.events()).containsExactly("begin", "lock", "begin", "body", "commit", "commit", "unlock")
        locks.forget()
        assertThat(runCatching { shop.rollsBack() }.exceptionOrNull()).hasMessage("sold out")
        assertThat(locks.events()).containsExactly("lock", "begin", "rollback", "unlock")
    }

    @Test
    @DisplayName("A call through two proxies takes its permit once, and inner calls take their own")
    fun twoProxies() = runBlocking<Unit> {
        val outer = context.bean("outer", Limited::class.java)
        assertThat(outer.call(null)).isEqualTo(1)
        assertThat(locks.events()).containsExactly("permit", "return")
        locks.forget()
        assertThat(outer.call(context.bean("inner", Limited::class.java))).isEqualTo(2)
        assertThat(locks.events()).containsExactly("permit", "permit", "return", "return")
    }

    @Test
    @DisplayName("A coroutine woken by advice between two proxies is not part of the call, and takes its own permit")
    fun wokenBetweenProxies() = runBlocking<Unit> {
        val inner = context.bean("inner", Limited::class.java)
        val woken = CoroutineScope(Dispatchers.Unconfined).async { context.bean(Between::class.java).reached.await(); inner.call(null) }
        assertThat(context.bean("outer", Limited::class.java).plain()).isEqualTo(1)
        assertThat(woken.await()).isEqualTo(1)
        assertThat(locks.events()).containsExactlyInAnyOrder("permit", "permit", "return", "return")
    }

    open class Shop(private val recorder: RecordingLocks) {

        @DistributedLock(name = "notifying")
        open suspend fun notifying(): String {
            recorder.lease("notifying").lose()
            delay(1)
            return "done"
        }

        @DistributedLock(name = "throwing", onLoss = OnLoss.THROW)
        open suspend fun throwing(): String {
            recorder.lease("throwing").lose()
            delay(1)
            recorder.record("done")
            return "done"
        }

        @DistributedLock(name = "interrupting", onLoss = OnLoss.INTERRUPT)
        open suspend fun interrupting(): String {
            try {
                recorder.lease("interrupting").lose()
                delay(Long.MAX_VALUE)
            } catch (ex: CancellationException) {
                recorder.record("cancelled")
                throw ex
            }
            return "done"
        }

        @DistributedLock(fallback = "why", onStoreFailure = OnStoreFailure.FALLBACK)
        open suspend fun falls(): String = "had it"

        private suspend fun why(ex: HoldfastException): String {
            delay(1)
            return ex.javaClass.simpleName
        }

        @DistributedLock
        @Transactional
        open suspend fun transactional(): String {
            delay(1)
            recorder.record("body")
            return "sold"
        }

        @DistributedLock
        @Transactional
        open suspend fun rollsBack() {
            delay(1)
            throw IllegalStateException("sold out")
        }

    }

    interface Limited {

        suspend fun call(other: Limited?): Int

        fun plain(): Int

    }

    open class Permitted : Limited {

        @Semaphore(name = "s", limit = 2)
        override suspend fun call(other: Limited?): Int {
            delay(1)
            assertThat(PermitLease.current()).isNotNull
            return if (other != null) 1 + other.call(null) else 1
        }

        @Semaphore(name = "s", limit = 2)
        override fun plain(): Int = 1

    }

    /** Advice between the two proxies. */
    class Between : MethodInterceptor {

        val reached = CompletableDeferred<Unit>()

        override fun invoke(invocation: MethodInvocation): Any? {
            reached.complete(Unit)
            return invocation.proceed()
        }

    }

    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement
    open class Application {

        @Bean
        internal open fun transactions(recorder: RecordingLocks) = ReactiveTestTransactions(recorder::record)

        @Bean
        open fun inner(): Limited = Permitted()

        @Bean
        open fun between() = Between()

        @Bean
        open fun outer(@Qualifier("inner") inner: Limited, between: Between): Limited =
            ProxyFactory(inner).apply { addAdvice(between) }.proxy as Limited

    }

}
