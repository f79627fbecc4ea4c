package io.holdfast.sample;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;

import io.holdfast.annotation.ScheduledLock;

import org.springframework.core.env.Environment;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Service;

/**
 * Reports at fixed times. All instances have the same schedule. One instance writes the
 * report, and the other instances skip it.
 */
@Service
class Reports {

	private static final String REPORTS_KEY = "shop:reports";

	private static final int KEPT = 20;

	private final StringRedisTemplate redis;

	private final Environment environment;

	Reports(StringRedisTemplate redis, Environment environment) {
		this.redis = redis;
		this.environment = environment;
	}

	/**
	 * Write the due report. The report may be finished before other instances try:
	 * {@code minHold} keeps other instances out until all have certainly tried.
	 */
	@Scheduled(cron = "${shop.report-cron}")
	@ScheduledLock(name = "report", minHold = "1s")
	void write() {
		Instant at = Instant.now().truncatedTo(ChronoUnit.MILLIS);
		this.redis.opsForList()
			.leftPush(REPORTS_KEY, at + " " + this.environment.getProperty("local.server.port", "?"));
		this.redis.opsForList().trim(REPORTS_KEY, 0, KEPT - 1);
	}

	/**
	 * Return the last reports.
	 * @return the reports, the latest first
	 */
	List<Report> last() {
		List<String> lines = this.redis.opsForList().range(REPORTS_KEY, 0, -1);
		return (lines != null) ? lines.stream().map(Report::parse).toList() : List.of();
	}

	/**
	 * Report.
	 *
	 * @param at the time of the report
	 * @param by the port of the instance that wrote the report
	 */
	record Report(Instant at, String by) {

		private static Report parse(String line) {
			int blank = line.indexOf(' ');
			return new Report(Instant.parse(line.substring(0, blank)), line.substring(blank + 1));
		}

	}

}
