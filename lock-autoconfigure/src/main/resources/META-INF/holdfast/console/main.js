// Keeps the page up to date: requests the state repeatedly while the page is visible, less often without answers.
import { Actions } from "./actions.js";
import { api, forgetRights, now, RefusedError, rights, UnreachableError } from "./api.js";
import { DetailView } from "./detail.js";
import { attribute, byId, duration, show, text, timeOfDay, utc, visible } from "./dom.js";
import { Instances } from "./instances.js";
import { LocksView } from "./locks.js";
import { age, Query } from "./query.js";
import { Question } from "./question.js";
import { SemaphoresView } from "./semaphores.js";

const INTERVAL = 1000;

const LONGEST_INTERVAL = 15_000;

/** Minimum pause after an answer, in multiples of its time, because a slow answer is much work. */
const REST = 3;

const instances = new Instances();

const actions = new Actions(new Question(instances), () => soon());

const detail = new DetailView(instances, () => soon());

const views = {
	locks: new LocksView(actions, instances, detail.open),
	semaphores: new SemaphoresView(actions, instances, detail.open)
};

const queries = {
	locks: new Query("locks", "lock", () => soon(), detail.open),
	semaphores: new Query("semaphores", "semaphore", () => soon(), detail.open)
};

let timer = 0;

let asking = false;

let again = false;

let failures = 0;

let paused = false;

let retryAt = 0;

/** Time of the last complete answer; 0 for none. */
let answeredAt = 0;

/** Reason why there is no complete answer, as a sentence, or null. */
let trouble = null;

let signedOut = false;

async function refresh() {
	clearTimeout(timer);
	keep();
	if (asking) {
		again = true;
		return;
	}
	asking = true;
	again = false;
	const begun = performance.now();
	try {
		const ids = await allowed();
		const wanted = Object.fromEntries(ids.map((id) => [id, queries[id].wanted]));
		const one = detail.wanted;
		const [single, ...answers] = await Promise.all([one && api.one(one.id, one.key).catch(() => null),
			...ids.map((id) => api.page(id, wanted[id]))]);
		take(Object.fromEntries(ids.map((id, i) => [id, answers[i]])), wanted);
		if (one) {
			detail.show(single, one);
		}
	}
	catch (error) {
		failures++;
		signedOut = error.status === 401;
		trouble = error instanceof UnreachableError ? error.message : signedOut ? "You are not signed in any more."
			: error instanceof RefusedError ? "This instance refuses the request: " + error.message + "."
				: "Not understood: " + error.message + ".";
	}
	finally {
		asking = false;
		schedule(performance.now() - begun);
	}
}

/** Shows an answer. Without a complete answer, the last state stays, with its time. */
function take(answers, wanted) {
	const all = Object.values(answers);
	const problem = all.map((answer) => answer.fleet.problem).find(Boolean);
	const known = all.every((answer) => answer.fleet.found);
	failures = known ? 0 : failures + 1;
	signedOut = false;
	trouble = problem ? (known ? "Not all of it could be seen: " : "") + problem + "." : null;
	if (!known) {
		return;
	}
	answeredAt = now();
	const [{ instance, fleet }] = all;
	text(byId("application"), instance.application ?? "");
	document.title = (instance.application ? instance.application + " · " : "") + "Holdfast console";
	if (!instances.isSelf(instance)) {
		forgetRights();
	}
	instances.take(instance, fleet.instances ?? [], answers.locks && !problem ? answers.locks.fleet.silent ?? [] : null);
	instances.show();
	cycles(answers.locks?.fleet.cycles ?? []);
	for (const [id, answer] of Object.entries(answers)) {
		const { found } = answer.fleet;
		numbers(id, found);
		if (queries[id].isFor(wanted[id])) {
			const shown = views[id].show(answer.fleet[id] ?? [], wanted[id]);
			again ||= queries[id].show(found, shown);
		}
		else {
			again = true;
		}
	}
}

/** Shows the parts that may be read, and the actions that are allowed. */
async function allowed() {
	const endpoints = await rights();
	const ids = Object.keys(views).filter((id) => endpoints[id]);
	Object.entries(views).forEach(([id, view]) => {
		view.writable = endpoints[id]?.writable === true;
		show(byId(id).closest("section"), endpoints[id]);
	});
	if (ids.length === 0) {
		throw new RefusedError(404, "add the endpoints 'locks' and 'semaphores' to management.endpoints.web.exposure.include");
	}
	const writable = ids.filter((id) => views[id].writable);
	text(byId("rights"), writable.length > 0 ? "This instance allows changes of " + writable.join(" and ")
		+ ". Whether your user may make them shows when you try. Each change is logged."
		: "Read only: management.endpoint.locks.access and management.endpoint.semaphores.access allow more.");
	return ids;
}

/** Shows numbers of holders and waiters, with the time of an old count. */
function numbers(id, { held, waiting, complete, counted }) {
	const old = complete ? age(counted) : "";
	for (const [cell, number] of [[id, held], [id + "-waiters", waiting]]) {
		text(byId("count-" + cell), (complete ? "" : "≥ ") + number.toLocaleString("en"));
		text(byId("age-" + cell), old && "counted " + old);
	}
}

function cycles(all) {
	const actor = ({ thread, instance }) => "thread " + thread + " of " + instances.name(instance);
	const sentences = all.map((cycle) => cycle.waits.map((wait) => actor(wait) + " waits for '" + visible(wait.key) + "' of "
		+ actor(wait.holder)).join("; "));
	show(byId("cycles"), sentences.length > 0);
	text(byId("cycles"), sentences.map((sentence) => "These threads wait for each other (deadlock): " + sentence + ".")
		.join(" "));
}

function schedule(took) {
	clearTimeout(timer);
	status();
	if (stopped()) {
		return;
	}
	const pause = again ? 0 : Math.min(Math.max(INTERVAL, REST * took) * 2 ** Math.min(failures, 4), LONGEST_INTERVAL);
	retryAt = Date.now() + pause;
	timer = setTimeout(refresh, pause);
	status();
}

/** Keeps the view in the address, for reloads and links. Behind the '#', which is not sent to the server. */
function keep() {
	const address = new URLSearchParams();
	[...Object.values(queries), detail].forEach((part) => part.keepIn(address));
	const hash = String(address) && "#" + address;
	if (location.hash !== hash) {
		history.replaceState(null, "", location.pathname + location.search + hash);
	}
}

function restore() {
	const address = new URLSearchParams(location.hash.slice(1));
	Object.values(queries).forEach((query) => query.restore(address));
	detail.restore(address, Object.keys(views));
}

function stopped() {
	return paused || document.hidden;
}

function soon() {
	if (!document.hidden) {
		refresh();
	}
}

function status() {
	const stale = failures > 0;
	document.body.classList.toggle("stale", stale && answeredAt > 0);
	show(byId("outage").parentElement, trouble);
	show(byId("sign-in"), trouble && signedOut);
	text(byId("outage"), trouble ? trouble + (stale ? answeredAt > 0 ? " This is the state of " + timeOfDay(answeredAt) + "."
		: " Nothing is known yet." : "") : "");
	if (stale && answeredAt === 0) {
		["locks", "semaphores", "instances"].forEach((id) => text(byId(id + "-state"), "Not known yet."));
	}
	const line = byId("connection");
	attribute(line, "title", answeredAt > 0 ? "as of " + utc(answeredAt) + " UTC" : null);
	if (paused) {
		attribute(line, "data-state", "paused");
		text(line, "Paused" + (answeredAt > 0 ? " · as of " + timeOfDay(answeredAt) : ""));
	}
	else if (stale) {
		attribute(line, "data-state", "away");
		text(line, (answeredAt > 0 ? "Stale, as of " + timeOfDay(answeredAt) + " · " : "") + "asking again in "
			+ duration(Math.max(0, Math.ceil((retryAt - Date.now()) / 1000) * 1000)));
	}
	else {
		attribute(line, "data-state", "live");
		text(line, "Live");
	}
}

byId("pause").addEventListener("click", () => {
	paused = !paused;
	attribute(byId("pause"), "aria-pressed", paused);
	clearTimeout(timer);
	status();
	if (!paused) {
		soon();
	}
});

document.addEventListener("visibilitychange", () => {
	clearTimeout(timer);
	if (!stopped()) {
		soon();
	}
});

byId("detail").addEventListener("close", keep);

byId("sign-in").addEventListener("click", () => location.reload());

window.addEventListener("hashchange", () => {
	// The link that skips the top of the page changes no view.
	if (location.hash !== "#main") {
		restore();
		soon();
	}
});

// Count down to the next attempt.
setInterval(() => failures > 0 && status(), 1000);

restore();
refresh();
