package io.holdfast.aop;

import io.holdfast.annotation.DistributedLock;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Places at which {@link DistributedLock @DistributedLock} is found.
 */
class DistributedLockDeclarationTests {

	@Test
	@DisplayName("A Kotlin overload for default values is not locked itself: it calls the annotated method through the proxy")
	void kotlinOverload() {
		try (LockedContext context = LockedContext.withClassProxies(Overloaded.class)) {
			context.bean(Overloaded.class).sell("a");
			assertThat(context.locks().keys()).containsExactly("1");
		}
	}

	@Test
	void methodComesBeforeType() {
		try (LockedContext context = LockedContext.of(OnType.class)) {
			OnType bean = context.bean(OnType.class);
			bean.own();
			bean.ofType();
			assertThat(context.locks().keys()).containsExactly("method", "type");
		}
	}

	@Test
	@DisplayName("A type's annotation covers public methods, inherited ones too, but not the methods of Object")
	void typeIsForPublicMethods() {
		try (LockedContext context = LockedContext.of(OnType.class)) {
			OnType bean = context.bean(OnType.class);
			bean.inherited();
			assertThat(context.locks().keys()).containsExactly("type");
			bean.notPublic();
			assertThat(bean.toString()).isEqualTo("on type");
			assertThat(context.locks().keys()).hasSize(1);
		}
	}

	@Test
	@DisplayName("A type's annotation without name and key gives each method its own key, of the bean's class")
	void typeWithoutKey() {
		try (LockedContext context = LockedContext.of(OnTypeWithoutKey.class)) {
			OnTypeWithoutKey bean = context.bean(OnTypeWithoutKey.class);
			bean.one();
			bean.inherited();
			assertThat(context.locks().keys()).containsExactly(OnTypeWithoutKey.class.getName() + ".one",
					OnTypeWithoutKey.class.getName() + ".inherited");
		}
	}

	@Test
	void subclassInheritsTypeAndMethod() {
		try (LockedContext context = LockedContext.of(SubType.class)) {
			SubType bean = context.bean(SubType.class);
			bean.ofType();
			bean.own();
			assertThat(context.locks().keys()).containsExactly("type", "method");
		}
	}

	@Test
	void interfaces() {
		try (LockedContext context = LockedContext.of(Implementation.class)) {
			Contract bean = context.bean(Contract.class);
			assertThat(AopUtils.isJdkDynamicProxy(bean)).isTrue();
			bean.declaredByInterface("a");
			bean.declaredByBoth();
			bean.declaredByDefault("b");
			((TypeContract) bean).declaredByType();
			assertThat(context.locks().keys()).containsExactly("i:a", "class", "d:b", "interface");
		}
	}

	@Test
	@DisplayName("An interface's annotation covers a method from a base class that does not implement the interface")
	void interfaceMetByInheritance() {
		try (LockedContext context = LockedContext.withClassProxies(ByInheritance.class)) {
			ByInheritance bean = context.bean(ByInheritance.class);
			bean.meet("a");
			((Met) bean).meet("b");
			assertThat(context.locks().keys()).containsExactly("met:a", "met:b");
		}
	}

	@Test
	void genericMethods() {
		try (LockedContext context = LockedContext.withClassProxies(StringHandler.class)) {
			Handler<String> handler = context.bean(StringHandler.class);
			handler.handle("a");
			context.bean(StringHandler.class).handle("b");
			assertThat(context.locks().keys()).containsExactly("h:a", "h:b");
		}
		try (LockedContext context = LockedContext.of(StringHandler.class)) {
			Handler<?> handler = context.bean(Handler.class);
			handler.other();
			assertThat(context.locks().keys()).containsExactly("other");
		}
	}

	@Test
	@DisplayName("Keys contain no names of lambdas and proxies, which differ between instances")
	void generatedClasses() {
		try (LockedContext context = LockedContext.of(Generated.class)) {
			context.bean(Task.class).run();
			context.bean(Remote.class).call("a");
			context.bean(Repository.class).touch();
			assertThat(context.locks().keys()).containsExactly(Task.class.getName() + ".run",
					Remote.class.getName() + ".call", "repository");
		}
	}

	@Test
	void beansWithoutAnnotationAreLeftAlone() {
		try (LockedContext context = LockedContext.of(Base.class)) {
			assertThat(context.bean(Base.class)).isNotInstanceOf(Advised.class);
		}
	}

	@Test
	@DisplayName("One object under two bean names locks once")
	void oneObjectWithTwoNames() {
		try (LockedContext context = LockedContext.of(TwoNames.class)) {
			context.bean(TwoNames.User.class).bean().own();
			assertThat(context.locks().keys()).containsExactly("method");
		}
	}

	static class Base {

		public void inherited() {
		}

	}

	@DistributedLock(name = "type")
	static class OnType extends Base {

		@DistributedLock(name = "method")
		public void own() {
		}

		public void ofType() {
		}

		void notPublic() {
		}

		@Override
		public String toString() {
			return "on type";
		}

	}

	static class SubType extends OnType {

		@Override
		public void own() {
		}

	}

	@DistributedLock
	static class OnTypeWithoutKey extends Base {

		public void one() {
		}

	}

	interface Contract {

		@DistributedLock(key = "'i:' + #id")
		void declaredByInterface(String id);

		@DistributedLock(name = "interface")
		void declaredByBoth();

		@DistributedLock(key = "'d:' + #id")
		default void declaredByDefault(String id) {
		}

	}

	@DistributedLock(name = "interface")
	interface TypeContract {

		void declaredByType();

	}

	static class Implementation implements Contract, TypeContract {

		@Override
		public void declaredByInterface(String otherName) {
		}

		@Override
		@DistributedLock(name = "class")
		public void declaredByBoth() {
		}

		@Override
		public void declaredByType() {
		}

	}

	static class Unaware {

		public void meet(String name) {
		}

	}

	interface Met {

		@DistributedLock(key = "'met:' + #name")
		void meet(String name);

	}

	static class ByInheritance extends Unaware implements Met {

	}

	interface Handler<T> {

		void handle(T value);

		void other();

	}

	static class StringHandler implements Handler<String> {

		@Override
		@DistributedLock(key = "'h:' + #value")
		public void handle(String value) {
		}

		@Override
		@DistributedLock(name = "other")
		public void other() {
		}

	}

	interface Task {

		@DistributedLock
		void run();

	}

	interface Remote {

		@DistributedLock
		void call(String argument);

	}

	interface Repository {

		@DistributedLock(name = "repository")
		void touch();

	}

	@Configuration(proxyBeanMethods = false)
	static class Generated {

		@Bean
		Task task() {
			return () -> {
			};
		}

		/** A client without a target, as clients of HTTP interfaces. */
		@Bean
		Remote remote() {
			return ProxyFactory.getProxy(Remote.class, (MethodInterceptor) (invocation) -> null);
		}

		/**
		 * A proxy with an interface that its target lacks, as repositories have.
		 */
		@Bean
		FactoryBean<Repository> repository() {
			ProxyFactory factory = new ProxyFactory(new Base());
			factory.setInterfaces(Repository.class);
			factory.addAdvice((MethodInterceptor) (invocation) -> null);
			return new FactoryBean<>() {

				@Override
				public Repository getObject() {
					return (Repository) factory.getProxy();
				}

				@Override
				public Class<?> getObjectType() {
					return Repository.class;
				}

			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class TwoNames {

		@Bean(autowireCandidate = false)
		OnType first() {
			return new OnType();
		}

		@Bean
		User user(BeanFactory beans) {
			return new User((OnType) beans.getBean("second"));
		}

		@Bean
		OnType second(BeanFactory beans) {
			return (OnType) beans.getBean("first");
		}

		record User(OnType bean) {
		}

	}

	/** Result of the Kotlin compiler for an open function with {@code @JvmOverloads}. */
	static class Overloaded {

		@DistributedLock(key = "#count")
		public void sell(String sku, int count) {
		}

		@DistributedLock(key = "#count")
		public final void sell(String sku) {
			sell$default(this, sku, 0);
		}

		static void sell$default(Overloaded self, String sku, int count) {
			self.sell(sku, 1);
		}

	}

}
