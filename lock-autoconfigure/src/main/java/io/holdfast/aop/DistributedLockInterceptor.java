package io.holdfast.aop;

import java.util.function.Supplier;

import io.holdfast.LockLease;
import io.holdfast.LockService;
import io.holdfast.ReleaseResult;
import io.holdfast.annotation.DistributedLock;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;

/**
 * Holds a lock around the invocation of a method.
 */
final class DistributedLockInterceptor implements MethodInterceptor {

	private static final Log logger = LogFactory.getLog(DistributedLockInterceptor.class);

	private final Declarations<DistributedLock, LockTemplate> declarations;

	private final Supplier<LockService> locks;

	private volatile @Nullable LockService resolved;

	DistributedLockInterceptor(Declarations<DistributedLock, LockTemplate> declarations, Supplier<LockService> locks) {
		this.declarations = declarations;
		this.locks = locks;
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		Object target = invocation.getThis();
		Class<?> targetClass = (target != null) ? AopUtils.getTargetClass(target)
				: invocation.getMethod().getDeclaringClass();
		LockTemplate template = this.declarations.find(invocation.getMethod(), targetClass);
		if (template == null) {
			return invocation.proceed();
		}
		LockLease lease = lockService().acquire(template.request(target, invocation.getArguments()));
		try {
			return invocation.proceed();
		}
		finally {
			release(lease, template);
		}
	}

	/**
	 * Asked for at the first call, so that advised beans may be created before it. Not
	 * guarded: a lock held while a bean is looked up could wait for its creator.
	 */
	private LockService lockService() {
		LockService service = this.resolved;
		if (service == null) {
			service = this.locks.get();
			this.resolved = service;
		}
		return service;
	}

	/** Throws nothing, so as not to hide what the method threw. */
	private void release(LockLease lease, LockTemplate template) {
		try {
			if (lease.release() == ReleaseResult.LOST) {
				logger.warn("Lock '" + lease.key() + "' was lost while " + template.declaration().qualifiedMethodName()
						+ " ran: others may have run at the same time");
			}
		}
		catch (RuntimeException ex) {
			logger.warn("Lock '" + lease.key() + "' of " + template.declaration().qualifiedMethodName()
					+ " was not released at once; it ends with its lease at the latest", ex);
		}
	}

}
