package io.holdfast.redis.script;

import java.util.List;

import io.holdfast.engine.store.LeaseStore.Renewal;
import io.holdfast.engine.store.Resource;
import io.holdfast.engine.store.Resource.Kind;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What scripts take for their ARGV.
 */
class ScriptArgvTests {

	@Test
	@DisplayName("of renewals that are to last equally long, that is said once")
	void renewals() {
		Resource lock = new Resource(Kind.LOCK, "k");
		List<Renewal> alike = List.of(new Renewal(lock, "a", 1, 30), new Renewal(lock, "b", 2, 30));
		assertThat(ScriptArgv.ofRenewals(alike, false)).containsExactly("a", "b", 30L);
		assertThat(ScriptArgv.ofRenewals(alike, true)).containsExactly("a", "b", 1, 2, 30L);
		List<Renewal> others = List.of(new Renewal(lock, "a", 1, 30), new Renewal(lock, "b", 2, -30));
		assertThat(ScriptArgv.ofRenewals(others, false)).containsExactly("a", "b", 30L, -30L);
		assertThat(ScriptArgv.ofRenewals(others, true)).containsExactly("a", "b", 1, 2, 30L, -30L);
		assertThat(ScriptArgv.ofRenewals(alike.subList(0, 1), true)).containsExactly("a", 1, 30L);
		assertThat(ScriptArgv.ofRenewals(List.of(), true)).isEmpty();
	}

}
