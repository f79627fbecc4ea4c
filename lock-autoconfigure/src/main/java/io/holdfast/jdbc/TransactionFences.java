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
import io.holdfast.LockService;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
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
 * Fences of a context: adds fence checks to its transaction managers, and finds the
 * fenced {@link DataSource}s. Those are named by the settings, or belong to the primary
 * transaction manager. Applications use {@link Fences} instead. Thread-safe.
 */
public final class TransactionFences implements BeanPostProcessor, PriorityOrdered, SmartInitializingSingleton {

	private final ConfigurableListableBeanFactory beans;

	private final Supplier<FenceSettings> settings;

	private final Supplier<ObservationRegistry> observations;

	/**
	 * Managers with a listener for their transactions, by bean name.
	 */
	private final Map<String, AbstractPlatformTransactionManager> managers = new ConcurrentHashMap<>();

	private volatile @Nullable List<FencedDataSource> cachedDataSources;

	/**
	 * Create the fences of a context.
	 * @param beans the beans of the context
	 * @param settings supplies the settings; called by the first fenced lock
	 * @param observations supplies the registry of observations; called by the first
	 * fenced lock
	 */
	public TransactionFences(ConfigurableListableBeanFactory beans, Supplier<FenceSettings> settings,
			Supplier<ObservationRegistry> observations) {
		this.beans = beans;
		this.settings = settings;
		this.observations = observations;
	}

	/**
	 * Return the lowest precedence among prioritized post-processors, before those whose
	 * advice may need a manager.
	 */
	@Override
	public int getOrder() {
		return LOWEST_PRECEDENCE;
	}

	/** Add the listener before the bean may get a proxy, which has no listeners. */
	@Override
	public Object postProcessBeforeInitialization(Object bean, String beanName) {
		if (bean instanceof AbstractPlatformTransactionManager manager && ManagedDataSource.isPossible(manager)) {
			this.managers.put(beanName, manager);
			listenFirst(manager);
		}
		return bean;
	}

	/** Add the listener to products of factory beans, which are processed only here. */
	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		return AopUtils.isAopProxy(bean) ? bean : postProcessBeforeInitialization(bean, beanName);
	}

	/**
	 * Put the listener first. Its check may restart the transaction, which undoes
	 * settings that other listeners make in the transaction.
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
	 * Return the reason why fenced locks are not possible in this context.
	 * @return the reason and the remedy, as text for people, or {@code null} if fenced
	 * locks are possible
	 * @throws IllegalStateException if the settings name a bean that is no
	 * {@code DataSource}
	 */
	public @Nullable String obstacle() {
		List<FencedDataSource> dataSources = dataSources();
		TransactionFences ofService = ofService();
		if (ofService != this) {
			if (ofService != null && ofService.covers(dataSources)) {
				return ofService.obstacle();
			}
			if (!dataSources.isEmpty()) {
				return "the LockService is a bean of a parent context, which has no transaction manager of the "
						+ "DataSource '" + dataSources.get(0).name()
						+ "': define the DataSource and its transaction manager in that context";
			}
		}
		for (FencedDataSource fenced : dataSources) {
			if (fenced.manager() == null) {
				return "the DataSource '" + fenced.name() + "' has no transaction manager of its own: name in "
						+ "holdfast.fence.jdbc.data-sources one that a transaction manager has or, with JTA, leave out "
						+ "fenced and call Fences.check(lease) in each transaction";
			}
		}
		if (!dataSources.isEmpty()) {
			return null;
		}
		if (this.managers.values().stream().anyMatch((manager) -> ManagedDataSource.of(manager) != null)) {
			return "the primary transaction manager tells no DataSource, or none of several is primary: name the "
					+ "DataSource in holdfast.fence.jdbc.data-sources";
		}
		List<String> others = unchecked();
		return others.isEmpty()
				? "there is no transaction manager for JDBC or JPA in the context of the LockService: add a DataSource "
						+ "to it, with spring-boot-starter-jdbc or spring-boot-starter-data-jpa"
				: "no transaction manager tells its DataSource, as with JTA (" + String.join(", ", others)
						+ "): leave out fenced, and call Fences.check(lease) in each transaction of a DataSource that "
						+ "holdfast.fence.jdbc.data-sources names";
	}

	/**
	 * Return whether a manager is that of the only fenced {@code DataSource}.
	 * @param manager the manager, or a proxy of it
	 * @return whether no other {@code DataSource} is fenced
	 */
	public boolean coversAlone(TransactionManager manager) {
		List<FencedDataSource> dataSources = dataSources();
		Object target = target(manager);
		return dataSources.size() == 1 && target instanceof AbstractPlatformTransactionManager own
				&& this.managers.containsValue(own)
				&& own.getTransactionExecutionListeners().stream().anyMatch(FenceListener.class::isInstance)
				&& ManagedDataSource.of(own) == dataSources.get(0).dataSource();
	}

	/**
	 * Return the fences of the context of the lock service: these fences or, if the
	 * service is a bean of a parent context, the fences of the parent, which may have
	 * none.
	 */
	private @Nullable TransactionFences ofService() {
		boolean inherited = this.beans.getBeanNamesForType(LockService.class, true, false).length == 0
				&& BeanFactoryUtils.beanNamesForTypeIncludingAncestors(this.beans, LockService.class, true,
						false).length > 0;
		BeanFactory parent = inherited ? this.beans.getParentBeanFactory() : null;
		return (parent != null) ? parent.getBeanProvider(TransactionFences.class).getIfAvailable() : this;
	}

	private boolean covers(List<FencedDataSource> others) {
		List<DataSource> covered = dataSources().stream().map(FencedDataSource::dataSource).toList();
		return others.stream().map(FencedDataSource::dataSource).allMatch(covered::contains);
	}

	private static Object target(Object bean) {
		Object target = AopProxyUtils.getSingletonTarget(bean);
		return (target != null) ? target : bean;
	}

	/**
	 * Raise the token of a lease that was just granted to the current thread, so that
	 * later reads of the thread see the writes of earlier holders. Uses the current
	 * transaction if it may write, or otherwise a separate short transaction. Blocks
	 * until the database answers.
	 * @param lease the fenced lease
	 * @param request the request of the lease
	 * @throws io.holdfast.LeaseLostException if a table has the token of a later holder
	 * @throws IllegalStateException if no {@code DataSource} is fenced, or if the current
	 * transaction may read data from before the grant
	 * @throws org.springframework.dao.DataAccessException if a database fails, or the row
	 * is locked for too long
	 */
	public void granted(LockLease lease, LockRequest request) {
		List<FencedDataSource> dataSources = required();
		boolean byTransaction = request.isFencedByTransaction() && dataSources.size() == 1
				&& !TransactionSynchronizationManager.isActualTransactionActive();
		for (FencedDataSource fenced : dataSources) {
			OpenTransaction open = OpenTransaction.writing(fenced.dataSource());
			if (open != null) {
				fenced.checkWithin(open, FencedLeases.of(lease), "acquisition");
			}
			else if (!byTransaction) {
				fenced.raise(lease);
			}
		}
	}

	/**
	 * Check the fenced leases of the current thread at the beginning of a transaction.
	 */
	void checkBegun(OpenTransaction begun) {
		FencedLeases leases = FencedLeases.current();
		if (leases.isEmpty()) {
			return;
		}
		if (begun.isReadOnly()) {
			begun.begunUnder(leases.rows());
			return;
		}
		for (FencedDataSource fenced : dataSources()) {
			if (fenced.dataSource() == begun.dataSource()) {
				fenced.checkBegun(begun, leases);
			}
		}
	}

	List<FencedDataSource> required() {
		List<FencedDataSource> dataSources = dataSources();
		if (dataSources.isEmpty()) {
			throw new IllegalStateException("No DataSource is fenced: " + obstacle());
		}
		return dataSources;
	}

	/**
	 * Return the fenced {@code DataSource}s. Empty if there is no transaction manager, or
	 * none of several is primary. If the lock service is a bean of a parent context,
	 * returns those of the parent, unless this context has another one.
	 */
	List<FencedDataSource> dataSources() {
		List<FencedDataSource> dataSources = this.cachedDataSources;
		if (dataSources == null) {
			dataSources = find();
			if (!dataSources.isEmpty()) {
				this.cachedDataSources = dataSources;
			}
		}
		return dataSources;
	}

	private List<FencedDataSource> find() {
		List<FencedDataSource> own = findOwn();
		TransactionFences ofService = ofService();
		return (ofService != null && ofService != this && ofService.covers(own)) ? ofService.dataSources() : own;
	}

	private List<FencedDataSource> findOwn() {
		FenceSettings settings = this.settings.get();
		List<FencedDataSource> dataSources = new ArrayList<>();
		for (String name : settings.dataSources()) {
			if (!this.beans.containsBean(name)) {
				throw new IllegalStateException("holdfast.fence.jdbc.data-sources names '" + name
						+ "', which is no bean: write the name of a DataSource");
			}
			DataSource dataSource = this.beans.getBean(name, DataSource.class);
			DataSource target = (dataSource instanceof TransactionAwareDataSourceProxy proxy)
					? proxy.getTargetDataSource() : dataSource;
			dataSources.add(fenced(name, (target != null) ? target : dataSource, settings));
		}
		if (settings.dataSources().isEmpty()) {
			PlatformTransactionManager primary = this.beans.getBeanProvider(PlatformTransactionManager.class)
				.getIfUnique();
			Object target = (primary != null) ? target(primary) : this;
			DataSource dataSource = (target instanceof PlatformTransactionManager manager)
					? ManagedDataSource.of(manager) : null;
			if (dataSource != null && this.managers.containsValue(target)) {
				dataSources.add(fenced(nameOf(dataSource), dataSource, settings));
			}
		}
		return List.copyOf(dataSources);
	}

	private FencedDataSource fenced(String name, DataSource dataSource, FenceSettings settings) {
		AbstractPlatformTransactionManager manager = managerOf(dataSource);
		if (manager == null) {
			// Create all managers: with lazy initialization, the manager may not exist
			// yet.
			this.beans.getBeanProvider(PlatformTransactionManager.class).forEach((created) -> {
			});
			manager = managerOf(dataSource);
		}
		return new FencedDataSource(name, dataSource,
				new FenceTable(dataSource, settings.tableName(), settings.timeout()), settings.tableName(), manager,
				this.observations.get());
	}

	/**
	 * Return the transaction manager of a {@code DataSource}, or {@code null}. Prefers a
	 * JDBC manager, whose new transactions also suspend those of other managers.
	 */
	private @Nullable AbstractPlatformTransactionManager managerOf(DataSource dataSource) {
		return this.managers.values()
			.stream()
			.filter((manager) -> ManagedDataSource.of(manager) == dataSource)
			.min(Comparator.comparing((manager) -> !(manager instanceof DataSourceTransactionManager)))
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
			.filter((entry) -> ManagedDataSource.of(entry.getValue()) == dataSource)
			.map((entry) -> "that of " + entry.getKey())
			.findFirst()
			.orElse("unknown");
	}

	/**
	 * Return the names of managers that may be for JDBC, but have no known
	 * {@code DataSource}.
	 */
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
