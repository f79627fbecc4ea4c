package io.holdfast.aop

import io.holdfast.annotation.DistributedLock
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.asFlow
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.DisplayName
import org.junit.jupiter.api.Test

/** Annotated functions with what Kotlin has and Java has not. */
internal class KotlinDeclarationTests {

    @Test
    @DisplayName("A flow may have elements that are null, and so may the flow of its fallback")
    fun nullElements() = runBlocking<Unit> {
        LockedContext.withClassProxies(WithNulls::class.java).use { context ->
            val bean = context.bean(WithNulls::class.java)
            assertThat(bean.numbers().toList()).containsExactly(1, null, 3, null)
            assertThat(context.locks().events()).containsExactly("lock", "unlock")
            context.locks().busy()
            assertThat(bean.numbers().toList()).containsExactly(null, 2)
        }
    }

    open class WithNulls {

        @DistributedLock(fallback = "others")
        open fun numbers(): Flow<Int?> = listOf(1, null, 3, null).asFlow()

        private fun others(): Flow<Int?> = listOf(null, 2).asFlow()

    }

}
