// Keeps the chart up to date while the page is visible; what the shop holds is shown by the console.
import { Actions } from "./actions.js";
import { api } from "./api.js";
import { byId, show, text } from "./dom.js";
import { LatencyView } from "./latency.js";

const INTERVAL = 1000;

const LONGEST_INTERVAL = 15_000;

const latency = new LatencyView();

let timer = 0;

let failures = 0;

async function refresh() {
	clearTimeout(timer);
	try {
		latency.show(await api.meters(), location.port);
		failures = 0;
	}
	catch (error) {
		failures++;
		latency.interrupt();
		show(byId("latency-state"), true);
		text(byId("latency-state"), error.message);
	}
	if (!document.hidden) {
		timer = setTimeout(refresh, Math.min(INTERVAL * 2 ** failures, LONGEST_INTERVAL));
	}
}

document.addEventListener("visibilitychange", () => {
	clearTimeout(timer);
	latency.interrupt();
	if (!document.hidden) {
		refresh();
	}
});

new Actions();

refresh();
