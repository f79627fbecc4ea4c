// How long calls waited at this instance, from the histograms of its meters.
import { byId, duration, show, text } from "./dom.js";

const SPAN = 60_000;

const QUANTILES = [0.5, 0.99];

/** Sums a histogram of a scrape over all of its tags: [upper bound in ms, cumulative count], ascending. */
export function histogram(scrape, meter) {
	const buckets = new Map();
	const line = new RegExp("^" + meter + "_bucket\\{(?:.*,)?le=\"([^\"]+)\"[^}]*\\} (\\S+)", "gm");
	for (const [, le, value] of scrape.matchAll(line)) {
		const bound = le === "+Inf" ? Infinity : Number(le) * 1000;
		buckets.set(bound, (buckets.get(bound) ?? 0) + Number(value));
	}
	return [...buckets].sort(([a], [b]) => a - b);
}

/** What was counted between two scrapes; all of it if the instance was restarted between them. */
export function between(before, after) {
	const old = new Map(before);
	const difference = after.map(([bound, value]) => [bound, value - (old.get(bound) ?? 0)]);
	return difference.some(([, value]) => value < 0) ? after : difference;
}

/** The wait in ms that a share of the calls did not exceed, null if there was none. */
export function quantile(buckets, share) {
	const total = buckets.at(-1)?.[1] ?? 0;
	if (total === 0) {
		return null;
	}
	let lower = 0;
	let below = 0;
	for (const [bound, value] of buckets) {
		if (value >= share * total) {
			return bound === Infinity ? lower : lower + (bound - lower) * (share * total - below) / (value - below);
		}
		lower = bound;
		below = value;
	}
	return lower;
}

export class LatencyView {

	#series = [
		new Series("holdfast_lock_acquire_seconds", "lock"),
		new Series("holdfast_semaphore_acquire_seconds", "semaphore")
	];

	constructor() {
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#series.forEach((each) => each.redraw()));
	}

	show(scrape, instance) {
		const now = Date.now();
		const found = this.#series.map((each) => each.add(scrape, now));
		const known = found.includes(true);
		show(byId("charts"), known);
		show(byId("latency-state"), !known);
		text(byId("latency-state"), "No lock or permit was asked for here yet.");
		text(byId("latency-scope"), "this instance only: " + instance);
		if (known) {
			this.#series.forEach((each) => each.draw());
		}
	}

	/** What was not asked for while the page was hidden must not count as of this moment. */
	interrupt() {
		this.#series.forEach((each) => each.interrupt());
	}

}

class Series {

	#meter;

	#name;

	#last = null;

	#points = [];

	#chart = null;

	constructor(meter, name) {
		this.#meter = meter;
		this.#name = name;
	}

	add(scrape, now) {
		const buckets = histogram(scrape, this.#meter);
		if (this.#last) {
			const news = between(this.#last, buckets);
			this.#points.push({ at: now, values: QUANTILES.map((share) => quantile(news, share)) });
		}
		this.#last = buckets;
		this.#points = this.#points.filter((point) => now - point.at <= SPAN);
		return buckets.length > 0;
	}

	interrupt() {
		this.#last = null;
	}

	/** Charts keep the colours that they began with. */
	redraw() {
		if (this.#chart) {
			this.#chart.destroy();
			this.#chart = null;
			this.draw();
		}
	}

	draw() {
		this.#chart ??= create(byId(this.#name + "-chart"));
		const now = Date.now();
		QUANTILES.forEach((share, index) => {
			this.#chart.data.datasets[index].data = this.#points.filter((point) => point.values[index] !== null)
				.map((point) => ({ x: (point.at - now) / 1000, y: Math.max(1, point.values[index]) }));
		});
		const highest = Math.max(...this.#points.map((point) => point.values.at(-1) ?? 1), 1000);
		this.#chart.options.scales.y.max = 10 ** Math.ceil(Math.log10(highest));
		this.#chart.update("none");
		this.#legend();
	}

	#legend() {
		const last = this.#points.findLast((point) => point.values[0] !== null);
		const legend = byId(this.#name + "-legend");
		text(legend, "");
		QUANTILES.forEach((share, index) => {
			const part = document.createElement("span");
			part.className = "swatch-" + (index + 1);
			part.textContent = (index === 0 ? "half within " : "99 % within ") + (last ? duration(last.values[index]) : "–");
			legend.append(part);
		});
	}

}

/** A power of ten milliseconds. */
function power(millis) {
	return millis < 1000 ? millis + " ms" : millis / 1000 + " s";
}

function create(canvas) {
	const style = getComputedStyle(document.documentElement);
	const colour = (name) => style.getPropertyValue(name).trim();
	const line = (label, name, borderDash = []) => ({ label, borderDash, borderColor: colour(name), backgroundColor: colour(name),
		borderWidth: 2, pointRadius: 2, pointHoverRadius: 4, data: [] });
	const axis = { grid: { color: colour("--line") }, border: { color: colour("--line") } };
	const ticks = (more) => ({ color: colour("--muted"), ...more });
	return new Chart(canvas, {
		type: "line",
		data: { datasets: [line("half within", "--chart-1"), line("99 % within", "--chart-2", [5, 3])] },
		options: {
			animation: false, maintainAspectRatio: false, interaction: { mode: "nearest", axis: "x", intersect: false },
			plugins: {
				legend: { display: false },
				tooltip: { callbacks: {
					title: (items) => items[0] ? Math.round(-items[0].parsed.x) + " s ago" : "",
					label: (item) => item.dataset.label + " " + duration(item.parsed.y)
				} }
			},
			scales: {
				x: { type: "linear", min: -60, max: 0, ...axis,
					ticks: ticks({ stepSize: 15, callback: (value) => value === 0 ? "now" : value + " s" }) },
				y: { type: "logarithmic", min: 1, ...axis,
					ticks: ticks({ callback: (value) => Number.isInteger(Math.log10(value)) ? power(value) : null }) }
			}
		}
	});
}
