package io.holdfast.engine.fleet;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.holdfast.engine.EngineSettings;
import io.holdfast.engine.InstanceReport;
import io.holdfast.engine.ScriptedEngine;
import io.holdfast.engine.store.InstanceStore.Asked;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

class ReportCollectorTests extends ScriptedEngine {

	private static final InstanceReport OWN = new InstanceReport("00000000", List.of(), List.of(), false);

	private static final InstanceReport FIRST = new InstanceReport("00000001", List.of(), List.of(), false);

	private static final InstanceReport SECOND = new InstanceReport("00000002", List.of(), List.of(), true);

	private CompletableFuture<FleetReport> ask(List<String> present, List<String> absent) {
		CompletableFuture<FleetReport> reports = new ReportCollector(context(), OWN, ReportCollector.name(null))
			.ask(ID);
		this.store.last("ask").done(new Asked(present, absent));
		return reports;
	}

	@Test
	@DisplayName("Without another instance there is no wait")
	void waitsForNoInstance() {
		assertThat(ask(List.of(), List.of("00000009")))
			.isCompletedWithValue(new FleetReport(List.of(OWN), List.of("00000009")));
		assertThat(this.store.plannedCount()).isZero();
	}

	@Test
	@DisplayName("Answers are collected again and again, until they are enough")
	void collects() {
		CompletableFuture<FleetReport> reports = ask(List.of("00000001", "00000002"), List.of("00000009"));
		this.store.sent();
		this.store.elapse(5);
		assertThat(this.store.sent()).containsExactly("collect 2");
		this.store.last("collect 2").done(List.of());
		this.store.elapse(10);
		assertThat(this.store.sent()).containsExactly("collect 2");
		this.store.last("collect 2").done(List.of(ReportCodec.of(SECOND), ReportCodec.of(FIRST)));
		assertThat(reports).isCompletedWithValue(new FleetReport(List.of(OWN, SECOND, FIRST), List.of("00000009")));
	}

	@Test
	@DisplayName("A repeated answer counts once, and the remaining answers are awaited")
	void countsInstances() {
		CompletableFuture<FleetReport> reports = ask(List.of("00000001", "00000002"), List.of());
		this.store.elapse(5);
		this.store.last("collect 2").done(List.of(ReportCodec.of(FIRST), ReportCodec.of(FIRST)));
		assertThat(reports).isNotDone();
		this.store.sent();
		this.store.elapse(10);
		assertThat(this.store.sent()).containsExactly("collect 1");
		this.store.last("collect 1").done(List.of(ReportCodec.of(FIRST)));
		this.store.elapse(20);
		this.store.last("collect 1").done(List.of(ReportCodec.of(SECOND)));
		assertThat(reports).isCompletedWithValue(new FleetReport(List.of(OWN, FIRST, SECOND), List.of()));
	}

	@Test
	@DisplayName("After a second the collected answers are used, the other instances count as silent, and unreadable"
			+ " answers are ignored")
	void givesUp() {
		CompletableFuture<FleetReport> reports = ask(List.of("00000001", "00000002"), List.of());
		this.store.answerAtOnce("collect 2", (command) -> command.done(List.of()));
		this.store.elapse(999);
		assertThat(this.store.sent()).hasSizeBetween(10, 30).doesNotContain("collect 0");
		assertThat(reports).isNotDone();
		this.store.elapse(1);
		assertThat(this.store.sent()).containsExactly("collect 0");
		this.store.last("collect 0").done(List.of("whatever", ReportCodec.of(FIRST)));
		assertThat(reports).isCompletedWithValue(new FleetReport(List.of(OWN, FIRST), List.of("00000002")));
		assertThat(this.store.plannedCount()).isZero();
	}

	@Test
	@DisplayName("An instance answers a request with its holds")
	void answers() {
		granted(REQUEST, 7);
		this.store.sent();
		this.store.wakeUps.reportWanted(ID);
		assertThat(this.store.sent()).containsExactly("answer " + ID);
	}

	@Test
	@DisplayName("Under a flood of requests an instance has a limited number of answers in flight")
	void answersSoManyAtATime() {
		for (int i = 0; i < 100; i++) {
			this.store.wakeUps.reportWanted(ID);
		}
		assertThat(this.store.sent()).hasSize(8).contains("answer " + ID);
		this.store.last("answer").fail(true);
		this.store.wakeUps.reportWanted(ID);
		assertThat(this.store.sent()).containsExactly("answer " + ID);
		this.store.wakeUps.reportWanted(ID);
		assertThat(this.store.sent()).isEmpty();
	}

	@Test
	@DisplayName("After an answer that the store refuses, further answers are given")
	void answersAfterSilence() {
		for (int i = 0; i < 8; i++) {
			this.store.wakeUps.reportWanted(ID);
		}
		this.store.elapse(EngineSettings.defaults().commandTimeout().toMillis());
		this.store.sent();
		this.store.wakeUps.reportWanted(ID);
		assertThat(this.store.sent()).containsExactly("answer " + ID);
		assertThat(this.store.plannedCount()).isEqualTo(1);
	}

	@Test
	@DisplayName("After an unreadable request, further answers are given")
	void answersAfterAnError() {
		for (int i = 0; i < 8; i++) {
			this.store.wakeUps.reportWanted("no hexadecimal digits");
		}
		this.store.wakeUps.reportWanted(ID);
		assertThat(this.store.sent()).containsExactly("answer " + ID);
	}

}
