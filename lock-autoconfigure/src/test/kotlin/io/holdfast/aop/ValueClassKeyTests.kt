package io.holdfast.aop

import io.holdfast.annotation.DistributedLock
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.runBlocking
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.DisplayName
import org.junit.jupiter.api.Test

/** Keys of value classes, which in byte code are there or not: the same value is the same key. */
internal class ValueClassKeyTests {

    private val context = LockedContext.withClassProxies(Shop::class.java)

    private val shop: Shop = context.bean(Shop::class.java)

    @AfterEach
    fun close() = context.close()

    @Test
    @DisplayName("A value has one text, whether it may be null, is in a list, or in another object")
    fun oneText() = runBlocking<Unit> {
        shop.amount(Amount(1))
        shop.nullableAmount(Amount(1))
        shop.amounts(listOf(Amount(1)))
        shop.suspending(Amount(1))
        shop.inText(Amount(1))
        shop.sku(Sku("1"))
        shop.ofPair(Pair(Sku("1"), 1))
        shop.order(Order(Sku("1")))
        assertThat(context.locks().keys()).hasSize(8).containsOnly("a:1")
    }

    @Test
    @DisplayName("Values of Kotlin's own value classes have one text each")
    fun ofKotlin() {
        shop.number(4_000_000_000u)
        shop.nullableNumber(4_000_000_000u)
        shop.numbers(listOf(4_000_000_000u))
        assertThat(context.locks().keys().toSet()).hasSize(1)
        context.locks().forget()
        shop.duration(1.seconds)
        shop.nullableDuration(1.seconds)
        assertThat(context.locks().keys().toSet()).hasSize(1)
    }

    @Test
    @DisplayName("A value class of a list gives a key for each element")
    fun ofList() {
        shop.basket(Basket(listOf(Sku("1"))))
        shop.nullableBasket(Basket(listOf(Sku("1"))))
        assertThat(context.locks().keys()).hasSize(2).containsOnly("a:1")
    }

    @JvmInline
    value class Amount(private val count: Int)

    @JvmInline
    value class Sku(val text: String) {

        override fun toString() = "sku $text"

    }

    @JvmInline
    value class Order(private val sku: Sku?)

    @JvmInline
    value class Basket(private val skus: List<Sku>)

    open class Shop {

        @DistributedLock(name = "a", key = "#amount")
        open fun amount(amount: Amount) = Unit

        @DistributedLock(name = "a", key = "#amount")
        open fun nullableAmount(amount: Amount?) = Unit

        @DistributedLock(name = "a", key = "#amounts")
        open fun amounts(amounts: List<Amount>) = Unit

        @DistributedLock(name = "a", key = "#amount")
        open suspend fun suspending(amount: Amount?) = Unit

        @DistributedLock(key = "'a:' + #amount")
        open fun inText(amount: Amount?) = Unit

        @DistributedLock(name = "a", key = "#sku")
        open fun sku(sku: Sku) = Unit

        @DistributedLock(name = "a", key = "#pair.first")
        open fun ofPair(pair: Pair<Sku, Int>) = Unit

        @DistributedLock(name = "a", key = "#order")
        open fun order(order: Order?) = Unit

        @DistributedLock(name = "a", key = "#basket")
        open fun basket(basket: Basket) = Unit

        @DistributedLock(name = "a", key = "#basket")
        open fun nullableBasket(basket: Basket?) = Unit

        @DistributedLock(name = "u", key = "#number")
        open fun number(number: UInt) = Unit

        @DistributedLock(name = "u", key = "#number")
        open fun nullableNumber(number: UInt?) = Unit

        @DistributedLock(name = "u", key = "#numbers")
        open fun numbers(numbers: List<UInt>) = Unit

        @DistributedLock(name = "d", key = "#duration")
        open fun duration(duration: Duration) = Unit

        @DistributedLock(name = "d", key = "#duration")
        open fun nullableDuration(duration: Duration?) = Unit

    }

}
