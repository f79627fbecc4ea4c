package io.holdfast.engine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import io.holdfast.PermitLease;
import io.holdfast.SemaphoreRequest;
import io.holdfast.engine.lease.LeaseHandle.PermitHandle;
import io.holdfast.engine.request.ResolvedRequest;
import io.holdfast.engine.view.BlockingAcquirer;

/**
 * The semaphores of a {@link SimulatedInstance}: what views ask for is written down, and
 * what they have is known in the portions in which they are to release it.
 */
final class SimulatedSemaphores extends DefaultSemaphoreService {

	private final Map<String, Deque<Part>> parts;

	/** How many permits of a lease are known to be left. */
	private final Map<PermitHandle, Integer> known = new HashMap<>();

	SimulatedSemaphores(SimulatedInstance instance) {
		this(instance, new HashMap<>());
	}

	private SimulatedSemaphores(SimulatedInstance instance, Map<String, Deque<Part>> parts) {
		super(instance.engine,
				new BlockingAcquirer<>(BlockingAcquirer.ofPermits(instance.engine.context, instance.engine::acquire)) {

					@Override
					protected PermitLease await(SemaphoreRequest request) throws InterruptedException {
						return added(ViewUse.current().ask(request(request), () -> (PermitHandle) super.await(request)),
								parts);
					}

					@Override
					public PermitLease awaitUninterruptibly(SemaphoreRequest request) {
						return added(ViewUse.current()
							.askUninterruptibly(request(request),
									() -> (PermitHandle) super.awaitUninterruptibly(request)),
								parts);
					}

				});
		this.parts = parts;
	}

	private static ResolvedRequest request(SemaphoreRequest request) {
		return ResolvedRequest.of(request, SimulatedInstance.SETTINGS);
	}

	private static PermitHandle added(PermitHandle lease, Map<String, Deque<Part>> parts) {
		parts.computeIfAbsent(lease.key(), (k) -> new ArrayDeque<>()).add(new Part(lease, lease.permits(), 0));
		return lease;
	}

	/** How many permits views have. */
	int count(String key) {
		return this.parts.getOrDefault(key, new ArrayDeque<>()).stream().mapToInt(Part::permits).sum();
	}

	/** What is released next of a semaphore, so many permits in all. */
	List<Part> take(String key, int count) {
		List<Part> taken = new ArrayList<>();
		Deque<Part> all = this.parts.getOrDefault(key, new ArrayDeque<>());
		for (int left = count; left > 0;) {
			Part first = all.remove();
			int kept = Math.max(0, first.permits() - left);
			if (kept > 0) {
				all.addFirst(new Part(first.lease(), kept, 0));
			}
			this.known.putIfAbsent(first.lease(), first.lease().permits());
			taken.add(new Part(first.lease(), first.permits() - kept, kept));
			left -= first.permits() - kept;
		}
		return taken;
	}

	/**
	 * How many permits a lease has left, if they are fewer than when this was asked last,
	 * whichever thread released the others; else 0.
	 */
	int shrunk(PermitHandle lease) {
		int permits = lease.permits();
		Integer before = this.known.put(lease, permits);
		return (before != null && permits < before) ? permits : 0;
	}

	/**
	 * Permits of one lease.
	 *
	 * @param lease which lease
	 * @param permits how many of it
	 * @param kept how many others are kept, when these are released
	 */
	record Part(PermitHandle lease, int permits, int kept) {
	}

}
