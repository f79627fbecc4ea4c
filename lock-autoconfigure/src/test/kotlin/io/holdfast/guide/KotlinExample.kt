package io.holdfast.guide

import io.holdfast.LeaseContext
import io.holdfast.LockLease
import io.holdfast.LockRequest
import io.holdfast.LockService
import io.holdfast.annotation.DistributedLock
import io.holdfast.annotation.Semaphore
import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ThreadContextElement
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.flowOn
import kotlinx.coroutines.runBlocking
import org.springframework.stereotype.Service

/* Code of docs/async.md, with its surroundings. Without the plugin kotlin-spring, classes have to be opened by hand. */

@Service
class Shop(private val locks: LockService, private val locked: Locked, private val stock: Stock) {

    @DistributedLock(key = "'stock:' + #sku", fallback = "busy")
    suspend fun sell(sku: String, count: Int): String {
        val left = stock.take(sku, count)                         // suspends
        stock.write(sku, left, LockLease.current().fencingToken())
        return "sold"
    }

    private suspend fun busy(sku: String, count: Int) = "busy"

    @Semaphore(name = "export", limit = 2)
    fun export(): Flow<Row> = stock.rows().flowOn(Dispatchers.IO) // held until its collector is done

    suspend fun take(sku: String) = locked.withLock("stock:$sku") { stock.take(sku, 1) }

    fun report() = locks.acquire("report").use { lease -> write(lease.key(), lease.fencingToken()) }       // does not suspend

    fun count() = locks.withLock<_, RuntimeException>("count") { stock.count() }          // the type of exceptions is not inferred

    fun clear() = locks.withLock<RuntimeException>(LockRequest.of("count").waitTime(5.seconds.toJavaDuration())) { stock.clear() }

}

/** Locks by hand, also for code that suspends. */
@Service
class Locked {

    @DistributedLock(key = "#key")
    suspend fun <T> withLock(key: String, block: suspend () -> T): T = block()

}

/** Takes leases along: withContext(Dispatchers.IO + Leases(LeaseContext.current())) { … } */
class Leases(private val leases: LeaseContext) : AbstractCoroutineContextElement(Leases), ThreadContextElement<LeaseContext.Scope> {

    companion object : CoroutineContext.Key<Leases>

    override fun updateThreadContext(context: CoroutineContext) = leases.open(this)

    override fun restoreThreadContext(context: CoroutineContext, oldState: LeaseContext.Scope) = oldState.close()

}

@Service
class Reports(private val locked: Locked, private val stock: Stock) {

    @DistributedLock(key = "'report'")
    suspend fun write(state: MutableStateFlow<Int>) {
        LeaseContext.empty().open().use { state.value = 1 }       // so calls with a future or Mono in woken coroutines wait, too
        runBlocking(Leases(LeaseContext.current())) {             // without Leases, it waits for this function
            locked.withLock("report") { stock.take("a", 1) }
        }
    }

    @DistributedLock(key = "'report'")
    fun print() = runBlocking {                                   // nested; with Dispatchers.Unconfined, it waits
        locked.withLock("report") { stock.take("a", 1) }
    }

}

interface Stock {

    suspend fun take(sku: String, count: Int): Int

    fun write(sku: String, left: Int, fencingToken: Long)

    fun rows(): Flow<Row>

    fun count(): Int

    fun clear()

}

data class Row(val sku: String, val left: Int)

private fun write(key: String, fencingToken: Long) = check(key.isNotEmpty() && fencingToken > 0)
