package io.holdfast.engine.store;

import java.time.Duration;
import java.util.List;

import io.holdfast.engine.store.InstanceStore.Asked;
import io.holdfast.engine.store.InstanceStore.Member;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Contract of every {@link InstanceStore}: the register of instances, besides the lists
 * of the {@link FleetStore}.
 */
public abstract class InstanceStoreContract extends FleetStoreContract {

	private static final Duration LONG = Duration.ofMinutes(15);

	private static final InstanceInfo INFO = new InstanceInfo("shop (é) \u001f", "host-1", 4711);

	private static final String REPORT = "0123456789abcdef0123456789abcdef";

	private static void join(Instance instance) {
		join(instance, LONG);
	}

	private static void join(Instance instance, Duration retention) {
		get(instance.store.instances().join(instance.id, INFO, Duration.ofHours(2), retention));
	}

	private List<Member> members() {
		return get(this.a.store.instances().members(LONG, 10));
	}

	private static String shown(Instance instance) {
		return Tokens.shown(instance.id);
	}

	@Test
	@DisplayName("Instances are listed from their join until they leave")
	void listsInstances() {
		assertThat(members()).isEmpty();
		join(this.a);
		elapse(Duration.ofMillis(5));
		join(this.b);
		assertThat(members()).extracting(Member::instance).containsExactly(shown(this.b), shown(this.a));
		assertThat(members()).allSatisfy((member) -> {
			assertThat(member.info()).isEqualTo(new InstanceInfo("shop (é) ?", "host-1", 4711));
			assertThat(member.seenMillis() - member.startedMillis()).isEqualTo(Duration.ofHours(2).toMillis());
			assertThat(member.seenMillis()).isBetween(System.currentTimeMillis() - 60_000,
					System.currentTimeMillis() + 60_000);
			assertThat(member.toString()).doesNotContain(this.a.id, this.b.id);
		});
		assertThat(get(this.a.store.instances().members(LONG, 1))).hasSize(1);
		get(this.b.store.instances().leave(this.b.id));
		get(this.b.store.instances().leave(this.b.id));
		assertThat(members()).extracting(Member::instance).containsExactly(shown(this.a));
	}

	@Test
	@DisplayName("An instance that joins again is listed once, with its last time")
	void joinsAgain() {
		join(this.a);
		Member first = members().get(0);
		elapse(Duration.ofMillis(20));
		get(this.a.store.instances().join(this.a.id, INFO, Duration.ofHours(3), LONG));
		assertThat(members()).singleElement().satisfies((member) -> {
			assertThat(member.seenMillis()).isGreaterThanOrEqualTo(first.seenMillis() + 20);
			assertThat(member.startedMillis()).as("from the first join").isEqualTo(first.startedMillis());
		});
	}

	@Test
	@DisplayName("A silent instance is not listed, and is removed by the join of another instance")
	void forgetsInstances() {
		join(this.a);
		elapse(Duration.ofMillis(SHORT + 20));
		assertThat(get(this.a.store.instances().members(Duration.ofMillis(SHORT), 10))).isEmpty();
		assertThat(members()).hasSize(1);
		join(this.b, Duration.ofMillis(SHORT));
		assertThat(members()).extracting(Member::instance).containsExactly(shown(this.b));
	}

	@Test
	@DisplayName("All other instances are asked for a report, and detected absent instances are named")
	void asks() {
		join(this.a);
		join(this.b);
		join(this.c);
		leave(this.c);
		Asked asked = get(this.a.store.instances().ask(this.a.id, REPORT));
		if (detectsAbsence()) {
			assertThat(asked.present()).containsExactly(shown(this.b));
			assertThat(asked.absent()).containsExactly(shown(this.c));
		}
		else {
			assertThat(asked.present()).containsExactlyInAnyOrder(shown(this.b), shown(this.c));
		}
		await().untilAsserted(() -> assertThat(this.b.reportsWanted).containsExactly(REPORT));
		assertThat(this.a.reportsWanted).isEmpty();
	}

	@Test
	@DisplayName("Answers are collected once: all together, or the available answers")
	void answers() {
		InstanceStore store = this.a.store.instances();
		assertThat(get(store.collect(REPORT, 2))).isEmpty();
		get(this.b.store.instances().answer(REPORT, "one: \u001f\u001e é"));
		assertThat(get(store.collect(REPORT, 2))).isEmpty();
		get(this.c.store.instances().answer(REPORT, "two"));
		assertThat(get(store.collect(REPORT, 2))).containsExactly("one: \u001f\u001e é", "two");
		assertThat(get(store.collect(REPORT, 0))).isEmpty();
		get(this.c.store.instances().answer(REPORT, "three"));
		assertThat(get(store.collect(REPORT, 0))).containsExactly("three");
	}

}
