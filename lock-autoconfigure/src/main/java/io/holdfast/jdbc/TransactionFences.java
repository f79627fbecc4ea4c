package io.holdfast.jdbc;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

import javax.sql.DataSource;

import io.holdfast.LockLease;
import io.holdfast.LockRequest;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.PriorityOrdered;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Has the transaction managers of a context check the fenced leases of their threads, and
 * knows the fenced {@link DataSource}s: that of the primary manager, or the ones named in
 * the settings. Applications use {@link Fences}. Thread-safe.
 */
public final class TransactionFences implements BeanPostProcessor, PriorityOrdered, SmartInitializingSingleton {

	private final ConfigurableListableBeanFactory beans;

	private final Supplier<FenceSettings> settings;

	private final Supplier<ObservationRegistry> observations;

	/**
	 * The managers that tell the begin of each transaction, by the names of their beans.
	 */
	private final Map<String, AbstractPlatformTransactionManager> managers = new ConcurrentHashMap<>();

	private volatile @Nullable List<FencedDataSource> known;

	/**
	 * Create the fences of a context.
	 * @param beans the beans of the context
	 * @param settings gives the settings; asked by the first fenced lock
	 * @param observations gives the registry of observations; asked then, too
	 */
	public TransactionFences(ConfigurableListableBeanFactory beans, Supplier<FenceSettings> settings,
			Supplier<ObservationRegistry> observations) {
		this.beans = beans;
		this.settings = settings;
		this.observations = observations;
	}

	/** Before post-processors whose advice may need a manager. */
	@Override
	public int getOrder() {
		return LOWEST_PRECEDENCE;
	}

	/** Before the bean may get a proxy, which has no listeners. */
	@Override
	public Object postProcessBeforeInitialization(Object bean, String beanName) {
		if (bean instanceof AbstractPlatformTransactionManager manager && ManagedDataSource.isPossible(manager)) {
			this.managers.put(beanName, manager);
			listenFirst(manager);
		}
		return bean;
	}

	/** The product of a factory bean comes only here. */
	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		return AopUtils.isAopProxy(bean) ? bean : postProcessBeforeInitialization(bean, beanName);
	}

	/**
	 * Put the listener before all others. It may roll back and begin again, which undoes
	 * settings that others make in the transaction.
	 */
	private void listenFirst(AbstractPlatformTransactionManager manager) {
		List<TransactionExecutionListener> listeners = new ArrayList<>(manager.getTransactionExecutionListeners());
		if (listeners.isEmpty() || !(listeners.get(0) instanceof FenceListener)) {
			listeners.removeIf(FenceListener.class::isInstance);
			listeners.add(0, new FenceListener(this, manager));
			manager.setTransactionExecutionListeners(listeners);
		}
	}

	@Override
	public void afterSingletonsInstantiated() {
		this.managers.values().forEach(this::listenFirst);
	}

	/**
	 * Return the obstacle to fenced locks in this context.
	 * @return the obstacle and its cure, in words, or {@code null} if there is none
	 * @throws IllegalStateException if a setting names no {@code DataSource}
	 */
	public @Nullable String obstacle() {
		List<FencedDataSource> all = dataSources();
		for (FencedDataSource each : all) {
			if (each.manager() == null) {
				return "the DataSource '" + each.name() + "' has no transaction manager of its own: name in "
						+ "holdfast.fence.jdbc.data-sources one that a transaction manager has or, with JTA, leave out "
						+ "fenced and call Fences.check(lease) in each transaction";
			}
		}
		if (!all.isEmpty()) {
			return null;
		}
		if (this.managers.values().stream().anyMatch((each) -> ManagedDataSource.of(each) != null)) {
			return "the primary transaction manager tells no DataSource, or none of several is primary: name the "
					+ "DataSource in holdfast.fence.jdbc.data-sources";
		}
		List<String> others = unchecked();
		return others.isEmpty()
				? "there is no transaction manager for JDBC or JPA: add a DataSource, with "
						+ "spring-boot-starter-jdbc or spring-boot-starter-data-jpa"
				: "no transaction manager tells its DataSource, as with JTA (" + String.join(", ", others)
						+ "): leave out fenced, and call Fences.check(lease) in each transaction of a DataSource that "
						+ "holdfast.fence.jdbc.data-sources names";
	}

	/**
	 * Return whether the transactions of a manager are those of the only fenced
	 * {@code DataSource}.
	 * @param manager the manager, perhaps behind a proxy
	 * @return whether that is so
	 */
	public boolean coversAlone(TransactionManager manager) {
		List<FencedDataSource> all = dataSources();
		Object target = target(manager);
		return all.size() == 1 && target instanceof AbstractPlatformTransactionManager own
				&& this.managers.containsValue(own)
				&& own.getTransactionExecutionListeners().stream().anyMatch(FenceListener.class::isInstance)
				&& ManagedDataSource.of(own) == all.get(0).dataSource();
	}

	private static Object target(Object bean) {
		Object target = AopProxyUtils.getSingletonTarget(bean);
		return (target != null) ? target : bean;
	}

	/**
	 * Raise the token of a lease that was just granted to the current thread, so that
	 * later reads of the thread are not older than the lock. In a transaction that may
	 * write it is a check of that; otherwise a short transaction. Blocks for the answer
	 * of the database.
	 * @param lease the lease, which is fenced
	 * @param request the request for the lease
	 * @throws io.holdfast.LeaseLostException if a later holder has been there
	 * @throws IllegalStateException if no {@code DataSource} is fenced, or the current
	 * transaction may read data of the time before the lock
	 * @throws org.springframework.dao.DataAccessException if a database fails, or the row
	 * is locked for too long
	 */
	public void granted(LockLease lease, LockRequest request) {
		List<FencedDataSource> all = required();
		boolean byTransaction = request.isFencedByTransaction() && all.size() == 1
				&& !TransactionSynchronizationManager.isActualTransactionActive();
		for (FencedDataSource each : all) {
			OpenTransaction open = OpenTransaction.writing(each.dataSource());
			if (open != null) {
				each.checkWithin(open, FencedLeases.of(lease), "acquisition");
			}
			else if (!byTransaction) {
				each.raise(lease);
			}
		}
	}

	/** Check the leases of the current thread, for which a transaction has just begun. */
	void checkBegun(OpenTransaction begun) {
		FencedLeases leases = FencedLeases.current();
		if (leases.isEmpty()) {
			return;
		}
		if (begun.isReadOnly()) {
			begun.begunUnder(leases.rows());
			return;
		}
		for (FencedDataSource each : dataSources()) {
			if (each.dataSource() == begun.dataSource()) {
				each.checkBegun(begun, leases);
			}
		}
	}

	List<FencedDataSource> required() {
		List<FencedDataSource> all = dataSources();
		if (all.isEmpty()) {
			throw new IllegalStateException("No DataSource is fenced: " + obstacle());
		}
		return all;
	}

	/**
	 * Return the fenced ones, none if no manager is there or none of several is primary.
	 */
	List<FencedDataSource> dataSources() {
		List<FencedDataSource> all = this.known;
		if (all == null) {
			all = find();
			if (!all.isEmpty()) {
				this.known = all;
			}
		}
		return all;
	}

	private List<FencedDataSource> find() {
		FenceSettings settings = this.settings.get();
		List<FencedDataSource> all = new ArrayList<>();
		for (String name : settings.dataSources()) {
			if (!this.beans.containsBean(name)) {
				throw new IllegalStateException("holdfast.fence.jdbc.data-sources names '" + name
						+ "', which is no bean: write the name of a DataSource");
			}
			DataSource dataSource = this.beans.getBean(name, DataSource.class);
			DataSource target = (dataSource instanceof TransactionAwareDataSourceProxy proxy)
					? proxy.getTargetDataSource() : dataSource;
			all.add(fenced(name, (target != null) ? target : dataSource, settings));
		}
		if (settings.dataSources().isEmpty()) {
			PlatformTransactionManager primary = this.beans.getBeanProvider(PlatformTransactionManager.class)
				.getIfUnique();
			Object target = (primary != null) ? target(primary) : this;
			DataSource dataSource = (target instanceof PlatformTransactionManager manager)
					? ManagedDataSource.of(manager) : null;
			if (dataSource != null && this.managers.containsValue(target)) {
				all.add(fenced(nameOf(dataSource), dataSource, settings));
			}
		}
		return List.copyOf(all);
	}

	private FencedDataSource fenced(String name, DataSource dataSource, FenceSettings settings) {
		AbstractPlatformTransactionManager manager = managerOf(dataSource);
		if (manager == null) {
			// Perhaps it was not created yet, as with lazy initialization.
			this.beans.getBeanProvider(PlatformTransactionManager.class).forEach((each) -> {
			});
			manager = managerOf(dataSource);
		}
		return new FencedDataSource(name, dataSource,
				new FenceTable(dataSource, settings.tableName(), settings.timeout()), settings.tableName(), manager,
				this.observations.get());
	}

	/**
	 * Prefer one of JDBC, whose new transactions suspend those of other managers, too.
	 */
	private @Nullable AbstractPlatformTransactionManager managerOf(DataSource dataSource) {
		return this.managers.values()
			.stream()
			.filter((each) -> ManagedDataSource.of(each) == dataSource)
			.min(Comparator.comparing((each) -> !(each instanceof DataSourceTransactionManager)))
			.orElse(null);
	}

	private String nameOf(DataSource dataSource) {
		for (String name : BeanFactoryUtils.beanNamesForTypeIncludingAncestors(this.beans, DataSource.class, true,
				false)) {
			if (this.beans.getBean(name) == dataSource) {
				return name;
			}
		}
		return this.managers.entrySet()
			.stream()
			.filter((each) -> ManagedDataSource.of(each.getValue()) == dataSource)
			.map((each) -> "that of " + each.getKey())
			.findFirst()
			.orElse("unknown");
	}

	/** Return the managers that may be of JDBC, and tell no {@code DataSource}. */
	private List<String> unchecked() {
		List<String> names = new ArrayList<>();
		for (String name : BeanFactoryUtils.beanNamesForTypeIncludingAncestors(this.beans,
				PlatformTransactionManager.class)) {
			AbstractPlatformTransactionManager own = this.managers.get(name);
			Class<?> type = this.beans.getType(name);
			boolean known = own != null && ManagedDataSource.of(own) != null;
			boolean ofOtherStore = own == null && type != null && type.getName().startsWith("org.springframework.")
					&& !type.getName().startsWith("org.springframework.transaction.jta.");
			if (!known && !ofOtherStore) {
				names.add(name);
			}
		}
		return names;
	}

}
