package io.holdfast.faults;

import io.holdfast.LeaseStoreException;
import org.junit.jupiter.api.BeforeEach;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests in which Redis carries a command out, and its reply never arrives. The proxy
 * waits for a request that names the key, so that it is the one that the test sends next.
 */
abstract class LostReplyTestCase extends ProxiedTestCase {

	static final String KEY = "lost-reply";

	/** Behind the proxy. */
	Instance instance;

	Instance other;

	@BeforeEach
	final void startInstances() {
		this.instance = this.fleet.start(this.proxy);
		this.other = this.fleet.start();
		this.fleet.awaitListening(2);
	}

	final void assertCut() {
		assertThat(this.proxy.cuts()).as("replies lost").isOne();
	}

	/** Do something that may also fail for the store's trouble with the key. */
	static void orStoreTrouble(Runnable action) {
		try {
			action.run();
		}
		catch (LeaseStoreException ex) {
			assertThat(ex.getKey()).isEqualTo(KEY);
		}
	}

}
