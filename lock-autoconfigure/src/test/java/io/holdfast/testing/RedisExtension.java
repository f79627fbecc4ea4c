package io.holdfast.testing;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Resolves {@link TestRedis} parameters: one per test, however often it is asked for. One
 * that is asked for in {@code @BeforeAll} is that of all tests of the class.
 */
class RedisExtension implements ParameterResolver {

	private static final Namespace NAMESPACE = Namespace.create(RedisExtension.class);

	@Override
	public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
		return parameter.getParameter().getType() == TestRedis.class;
	}

	@Override
	public TestRedis resolveParameter(ParameterContext parameter, ExtensionContext context) {
		// The store closes what it holds when the test, or the class, is over.
		return context.getStore(NAMESPACE)
			.computeIfAbsent(TestRedis.class, (key) -> new TestRedis(SharedRedis.get()), TestRedis.class);
	}

	@Override
	public ExtensionContextScope getTestInstantiationExtensionContextScope(ExtensionContext rootContext) {
		return ExtensionContextScope.TEST_METHOD;
	}

}
