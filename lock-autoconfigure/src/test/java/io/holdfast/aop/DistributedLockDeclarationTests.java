package io.holdfast.aop;

import io.holdfast.annotation.DistributedLock;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.ProxyFactoryBean;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Places at which {@link DistributedLock @DistributedLock} is found.
 */
class DistributedLockDeclarationTests extends LockedTestCase {

	@ParameterizedTest
	@ValueSource(classes = { OnType.class, SubType.class })
	@DisplayName("An annotation of a method precedes that of its type, also in a subclass without annotations")
	void methodComesBeforeType(Class<? extends OnType> type) {
		OnType bean = start(type);
		bean.own();
		bean.ofType();
		assertThat(this.locks.keys()).containsExactly("method", "type");
	}

	@Test
	@DisplayName("A type's annotation covers public methods, inherited ones too, but not the methods of Object")
	void typeIsForPublicMethods() {
		OnType bean = start(OnType.class);
		bean.inherited();
		assertThat(this.locks.keys()).containsExactly("type");
		bean.notPublic();
		assertThat(bean.toString()).isEqualTo("on type");
		assertThat(this.locks.keys()).hasSize(1);
	}

	@Test
	@DisplayName("A type's annotation without name and key gives each method its own key, of the bean's class")
	void typeWithoutKey() {
		OnTypeWithoutKey bean = start(OnTypeWithoutKey.class);
		bean.one();
		bean.inherited();
		assertThat(this.locks.keys()).containsExactly(OnTypeWithoutKey.class.getName() + ".one",
				OnTypeWithoutKey.class.getName() + ".inherited");
	}

	@Test
	void interfaces() {
		startByInterface(Implementation.class);
		Contract bean = bean(Contract.class);
		assertThat(AopUtils.isJdkDynamicProxy(bean)).isTrue();
		bean.declaredByInterface("a");
		bean.declaredByBoth();
		bean.declaredByDefault("b");
		((TypeContract) bean).declaredByType();
		assertThat(this.locks.keys()).containsExactly("i:a", "class", "d:b", "interface");
	}

	@Test
	@DisplayName("An interface's annotation covers a method from a base class that does not implement the interface")
	void interfaceMetByInheritance() {
		ByInheritance bean = start(ByInheritance.class);
		bean.meet("a");
		((Met) bean).meet("b");
		assertThat(this.locks.keys()).containsExactly("met:a", "met:b");
	}

	@Test
	void genericMethods() {
		StringHandler bean = start(StringHandler.class);
		Handler<String> handler = bean;
		handler.handle("a");
		bean.handle("b");
		assertThat(this.locks.keys()).containsExactly("h:a", "h:b");
		startByInterface(StringHandler.class);
		bean(Handler.class).other();
		assertThat(this.locks.keys()).containsExactly("other");
	}

	@Test
	@DisplayName("Keys contain no names of lambdas and proxies, which differ between instances")
	void generatedClasses() {
		register("task", Task.class, () -> () -> {
		});
		register("remote", Remote.class, () -> client(Remote.class));
		register("repository", ProxyFactoryBean.class, () -> {
			ProxyFactoryBean factory = new ProxyFactoryBean();
			factory.setTarget(new Base());
			factory.setInterfaces(Repository.class);
			factory.addAdvice(answer());
			return factory;
		});
		startByInterface();
		bean(Task.class).run();
		bean(Remote.class).call("a");
		bean(Repository.class).touch();
		assertThat(this.locks.keys()).containsExactly(Task.class.getName() + ".run", Remote.class.getName() + ".call",
				"repository");
	}

	@Test
	void beansWithoutAnnotationAreLeftAlone() {
		startByInterface(Base.class);
		assertThat(bean(Base.class)).isNotInstanceOf(Advised.class);
	}

	@Test
	@DisplayName("One object under two bean names locks once")
	void oneObjectWithTwoNames() {
		start(TwoNames.class);
		bean(TwoNames.User.class).bean().own();
		assertThat(this.locks.keys()).containsExactly("method");
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

}
