package io.holdfast.testing;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Resolver of {@link TestRedis} parameters: one for each test, and one for all tests of a
 * class if requested in {@code @BeforeAll}.
 */
class RedisExtension implements ParameterResolver {

	private static final Namespace NAMESPACE = Namespace.create(RedisExtension.class);

	@Override
	public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
		return parameter.getParameter().getType() == TestRedis.class;
	}

	@Override
	public TestRedis resolveParameter(ParameterContext parameter, ExtensionContext context) {
		// The store closes its values at the end of the test or class.
		return context.getStore(NAMESPACE)
			.computeIfAbsent(TestRedis.class, (key) -> new TestRedis(SharedRedis.get()), TestRedis.class);
	}

	@Override
	public ExtensionContextScope getTestInstantiationExtensionContextScope(ExtensionContext rootContext) {
		return ExtensionContextScope.TEST_METHOD;
	}

}
