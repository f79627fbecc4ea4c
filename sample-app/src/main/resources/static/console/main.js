// Keeps the page up to date: asks again and again while it is visible, less often while there is no answer.
import { Actions } from "./actions.js";
import { api, RefusedError, UnreachableError } from "./api.js";
import { attribute, byId, duration, show, text } from "./dom.js";
import { FleetView, place } from "./fleet.js";
import { LatencyView } from "./latency.js";

const INTERVAL = 1000;

const LONGEST_INTERVAL = 15_000;

const actions = new Actions(() => soon());

const fleet = new FleetView(actions);

const latency = new LatencyView();

let timer = 0;

let asking = false;

let again = false;

let failures = 0;

let paused = false;

let retryAt = 0;

async function refresh() {
	clearTimeout(timer);
	if (asking) {
		again = true;
		return;
	}
	asking = true;
	again = false;
	try {
		const [locks, semaphores, meters] = await Promise.all([api.locks(), api.semaphores(), api.meters()]);
		fleet.show(locks, semaphores);
		latency.show(meters, place(locks.instance));
		failures = 0;
		const problem = locks.fleet.problem ?? semaphores.fleet.problem;
		show(byId("outage"), problem);
		text(byId("outage"), problem ? "What is held in the fleet is not known: " + problem : "");
	}
	catch (error) {
		failures++;
		latency.interrupt();
		complain(error);
	}
	finally {
		asking = false;
		document.body.classList.toggle("stale", failures > 0);
		schedule();
	}
}

function schedule() {
	clearTimeout(timer);
	if (stopped()) {
		return;
	}
	const pause = again ? 0 : Math.min(INTERVAL * 2 ** failures, LONGEST_INTERVAL);
	retryAt = Date.now() + pause;
	timer = setTimeout(refresh, pause);
	connection();
}

function stopped() {
	return paused || document.hidden;
}

function soon() {
	if (!stopped()) {
		refresh();
	}
}

function complain(error) {
	const outage = byId("outage");
	show(outage, true);
	const reason = error instanceof UnreachableError ? error.message : error instanceof RefusedError
		? "This instance answers, but not what was asked for: " + error.message + "." : "Not understood: " + error.message + ".";
	text(outage, reason + " What is shown may be old.");
}

function connection() {
	const line = byId("connection");
	if (paused) {
		attribute(line, "data-state", "paused");
		text(line, "Paused");
	}
	else if (failures > 0) {
		attribute(line, "data-state", "away");
		text(line, "Asking again in " + duration(Math.max(0, Math.ceil((retryAt - Date.now()) / 1000) * 1000)));
	}
	else {
		attribute(line, "data-state", "live");
		text(line, "Live");
	}
}

byId("pause").addEventListener("click", () => {
	paused = !paused;
	attribute(byId("pause"), "aria-pressed", paused);
	latency.interrupt();
	clearTimeout(timer);
	connection();
	soon();
});

document.addEventListener("visibilitychange", () => {
	clearTimeout(timer);
	latency.interrupt();
	soon();
});

// So that the time until the next try counts down.
setInterval(() => failures > 0 && connection(), 1000);

refresh();
