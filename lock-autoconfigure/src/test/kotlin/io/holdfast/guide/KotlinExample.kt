package io.holdfast.guide

import io.holdfast.LockLease
import io.holdfast.LockService
import io.holdfast.annotation.DistributedLock
import io.holdfast.annotation.Semaphore
import kotlinx.coroutines.flow.Flow
import org.springframework.stereotype.Service

/* What docs/async.md shows, and what it takes for given. The plugin kotlin-spring is not here to open the class. */

@Service
class Shop(private val locks: LockService, private val stock: Stock) {

    @DistributedLock(key = "'stock:' + #sku", fallback = "busy")
    suspend fun sell(sku: String, count: Int): String {
        val left = stock.take(sku, count)                         // suspends
        stock.write(sku, left, LockLease.current().fencingToken())
        return "sold"
    }

    private suspend fun busy(sku: String, count: Int) = "busy"

    @Semaphore(name = "export", limit = 2)
    fun export(): Flow<Row> = stock.rows()                        // held until its collector is done

    fun report() = locks.acquire("report").use { lease -> write(lease.fencingToken()) }

    fun count() = locks.withLock<Int, RuntimeException>("count") { stock.count() }

}

interface Stock {

    suspend fun take(sku: String, count: Int): Int

    fun write(sku: String, left: Int, fencingToken: Long)

    fun rows(): Flow<Row>

    fun count(): Int

}

data class Row(val sku: String, val left: Int)

private fun write(fencingToken: Long) = check(fencingToken > 0)
