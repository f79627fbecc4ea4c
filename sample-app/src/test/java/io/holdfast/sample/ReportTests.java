package io.holdfast.sample;

import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import io.holdfast.sample.Instances.Instance;
import io.holdfast.sample.Reports.Report;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.http.HttpMethod;
import org.springframework.scheduling.config.ScheduledTaskHolder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Scheduled job of two instances.
 */
class ReportTests extends TwoInstancesTestCase {

	@BeforeAll
	static void start() {
		startTwo("--shop.report-cron=*/2 * * * * *");
	}

	@Test
	@DisplayName("Each report is due at two instances and written by one, and by the other after the first has gone")
	void writesOnce() {
		for (Instance instance : List.of(first, second)) {
			assertThat(instance.context().getBean(ScheduledTaskHolder.class).getScheduledTasks()).hasSize(1);
		}
		Instant begun = Instant.now();
		await().atMost(Duration.ofMinutes(1)).until(() -> writtenSince(begun).size() >= 2);
		Set<Long> due = new HashSet<>();
		for (Report report : writtenSince(begun)) {
			assertThat(due.add(report.at().getEpochSecond() / 2)).as("%s is the only one of its time", report).isTrue();
			assertThat(report.by()).isIn(first.port(), second.port());
		}
		// The first instance has Redis.
		ConfigurableApplicationContext last = second.context();
		last.close();
		Instant closed = Instant.now();
		await().atMost(Duration.ofMinutes(1)).until(() -> !writtenSince(closed).isEmpty());
		assertThat(writtenSince(closed)).allSatisfy((report) -> assertThat(report.by()).isEqualTo(first.port()));
	}

	private static List<Report> writtenSince(Instant time) {
		Report[] reports = first.send(HttpMethod.GET, "/reports", Report[].class);
		return List.of(reports).stream().filter((report) -> report.at().isAfter(time)).toList();
	}

}
