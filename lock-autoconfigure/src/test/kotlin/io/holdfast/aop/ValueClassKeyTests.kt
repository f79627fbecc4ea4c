package io.holdfast.aop

import io.holdfast.annotation.DistributedLock
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.runBlocking
import org.assertj.core.api.Assertions.assertThat
import org.assertj.core.api.Assertions.catchThrowable
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.DisplayName
import org.junit.jupiter.api.Test

/** Keys of value classes, boxed or not in byte code: the same value is the same key. */
internal class ValueClassKeyTests {

    private val context = LockedContext(Shop::class.java)

    private val shop: Shop = context.bean(Shop::class.java)

    @AfterEach
    fun close() = context.close()

    @Test
    @DisplayName("A value has the same text as a plain or nullable parameter, in a list, and in another object")
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
    @DisplayName("Kotlin's own value classes have one text for each value")
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

    @Test
    @DisplayName("A property of an unboxed value class is refused at the start, with the cure")
    fun property() {
        assertThat(LockedContext.refusal(mapOf()) { it.register(OfText::class.java) })
            .hasMessageContaining("OfText.sell(String): key = \"#sku.text\" has an unknown name: text, which is no property of java.lang.String")
            .hasMessageContaining("In Kotlin, a value class is its value: write #a for #a.b")
        assertThat(LockedContext.refusal(mapOf()) { it.register(OfNumber::class.java) })
            .hasMessageContaining("OfNumber.sell(int): condition = \"#amount.count > 1\" has an unknown name: count, which is no property of int")
        assertThat(LockedContext.refusal(mapOf()) { it.register(OfItem::class.java) })
            .hasMessageContaining("has an unknown name: text, which is no property of java.lang.String. In Kotlin, a value class")
        assertThat(LockedContext.refusal(mapOf()) { it.register(OfData::class.java) })
            .hasMessageContaining("has an unknown name: skuu, which is no property of ${Item::class.java.name}. Write the name")
    }

    @Test
    @DisplayName("A property of a value class that may be boxed is refused at the call, with the cure")
    fun propertyAtCall() {
        assertThat(catchThrowable { shop.basketProperty(Basket(listOf())) }).hasMessageContaining("In Kotlin, a value class is its value")
    }

    @Test
    @DisplayName("Properties of other classes can be read, also properties of a value class type")
    fun readable() {
        shop.item(Item(Sku("1"), Amount(2)))
        shop.price(Price(1))
        shop.nullablePrice(Price(1))
        assertThat(context.locks().keys()).containsExactly("a:1/2", "a:1", "a:1")
    }

    @Test
    @DisplayName("A sequence is refused as a key, with the type to pass instead")
    fun ofSequence() {
        assertThat(catchThrowable { shop.sequence(sequenceOf("a")) })
            .hasMessageContaining("holds several values, which a key would use up. Write a List as parameter, which the caller makes by toList()")
    }

    @JvmInline
    value class Amount(private val count: Int)

    @JvmInline
    value class Sku(val text: String) {

        override fun toString() = "sku $text"

    }

    data class Item(val sku: Sku, val amount: Amount?)

    @JvmInline
    value class Price(val cents: Int)

    open class OfText { @DistributedLock(key = "#sku.text") open fun sell(sku: Sku) = Unit }
    open class OfNumber { @DistributedLock(condition = "#amount.count > 1") open suspend fun sell(amount: Amount) = Unit }
    open class OfItem { @DistributedLock(key = "'a:' + #item.sku.text") open fun sell(item: Item) = Unit }
    open class OfData { @DistributedLock(key = "#item?.skuu") open fun sell(item: Item) = Unit }

    @JvmInline
    value class Order(private val sku: Sku?)

    @JvmInline
    value class Basket(private val skus: List<Sku>)

    open class Shop {

        @DistributedLock(name = "a", key = "#amount") open fun amount(amount: Amount) = Unit
        @DistributedLock(name = "a", key = "#amount") open fun nullableAmount(amount: Amount?) = Unit
        @DistributedLock(name = "a", key = "#amounts") open fun amounts(amounts: List<Amount>) = Unit
        @DistributedLock(name = "a", key = "#amount") open suspend fun suspending(amount: Amount?) = Unit
        @DistributedLock(key = "'a:' + #amount") open fun inText(amount: Amount?) = Unit
        @DistributedLock(name = "a", key = "#sku") open fun sku(sku: Sku) = Unit
        @DistributedLock(name = "a", key = "#pair.first") open fun ofPair(pair: Pair<Sku, Int>) = Unit
        @DistributedLock(name = "a", key = "#order") open fun order(order: Order?) = Unit
        @DistributedLock(name = "a", key = "#basket") open fun basket(basket: Basket) = Unit
        @DistributedLock(name = "a", key = "#basket") open fun nullableBasket(basket: Basket?) = Unit
        @DistributedLock(name = "a", key = "#basket.skus") open fun basketProperty(basket: Basket) = Unit
        @DistributedLock(name = "a", key = "#item.sku + '/' + #item.amount") open fun item(item: Item) = Unit
        @DistributedLock(name = "a", key = "#price") open fun price(price: Price) = Unit
        @DistributedLock(name = "a", key = "#price.cents") open fun nullablePrice(price: Price?) = Unit
        @DistributedLock(name = "a", key = "#values") open fun sequence(values: Sequence<String>) = Unit
        @DistributedLock(name = "u", key = "#number") open fun number(number: UInt) = Unit
        @DistributedLock(name = "u", key = "#number") open fun nullableNumber(number: UInt?) = Unit
        @DistributedLock(name = "u", key = "#numbers") open fun numbers(numbers: List<UInt>) = Unit
        @DistributedLock(name = "d", key = "#duration") open fun duration(duration: Duration) = Unit
        @DistributedLock(name = "d", key = "#duration") open fun nullableDuration(duration: Duration?) = Unit

    }

}
