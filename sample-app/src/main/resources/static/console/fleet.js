// What is held and waited for in the whole fleet, and who is in it.
import { ago, attribute, byId, count, duration, element, reconcile, show, text } from "./dom.js";

/** How long a row stays after its lock was released, so that short locks do not make the page jump. */
const LINGER = 4000;

const MAX_SQUARES = 40;

const MAX_CHIPS = 6;

export class FleetView {

	#actions;

	#longest = new Map();

	#locks = new Map();

	#semaphores = new Map();

	#places = new Map();

	constructor(actions) {
		this.#actions = actions;
	}

	show(locks, semaphores) {
		const now = Date.now();
		this.#place(locks.fleet.instances);
		const lockRows = linger(this.#locks, locks.fleet.locks, now);
		const semaphoreRows = linger(this.#semaphores, semaphores.fleet.semaphores, now);
		this.#summary(locks, semaphores);
		this.#cycles(locks.fleet.cycles);
		this.#forget(locks.fleet.locks);
		reconcile(byId("locks"), lockRows, (row) => row.item.key, (row) => this.#createLock(row.item),
			(node, row) => this.#updateLock(node, row, locks));
		state("locks-state", lockRows.length, locks.fleet.cursor, "locks",
			"No lock is held right now. Start a sale, or freeze a holder, to see some.");
		reconcile(byId("semaphores"), semaphoreRows, (row) => row.item.key, (row) => this.#createSemaphore(row.item),
			(node, row) => this.#updateSemaphore(node, row, semaphores));
		state("semaphores-state", semaphoreRows.length, semaphores.fleet.cursor, "semaphores",
			"No semaphore is used right now. Ask for quotes to see one.");
		this.#instances(locks, semaphores);
	}

	/** Gives each instance a colour for as long as this page is open. */
	#place(instances) {
		for (const instance of instances) {
			const known = this.#places.get(instance.id);
			this.#places.set(instance.id, { ...instance, place: known?.place ?? this.#places.size % 8 });
		}
	}

	#summary(locks, semaphores) {
		const pools = semaphores.fleet.semaphores;
		const used = pools.reduce((sum, pool) => sum + pool.used, 0);
		const limit = pools.reduce((sum, pool) => sum + (pool.limit ?? 0), 0);
		const queued = [...locks.fleet.locks, ...pools].reduce((sum, each) => sum + each.queueLength, 0);
		text(byId("count-instances"), locks.fleet.instances.length);
		text(byId("count-locks"), locks.fleet.locks.filter((lock) => lock.holders.length > 0).length);
		text(byId("count-queued"), queued);
		text(byId("count-permits"), limit > 0 ? used + " of " + limit : used);
		text(byId("count-waiting"), (locks.waiting.length + semaphores.waiting.length).toLocaleString("en")
			+ (locks.cut || semaphores.cut ? "+" : ""));
	}

	#cycles(cycles) {
		const sentences = cycles.map((cycle) => cycle.waits.map((wait) => this.#actor(wait) + " waits for '" + wait.key
			+ "' of " + this.#actor(wait.holder)).join("; "));
		show(byId("cycles"), sentences.length > 0);
		text(byId("cycles"), sentences.map((sentence) => "These wait for each other and will not get on: " + sentence + ".")
			.join(" "));
	}

	#actor(actor) {
		return "thread " + actor.thread + " of " + this.#name(actor.instance);
	}

	#name(id) {
		const instance = this.#places.get(id);
		return instance ? place(instance) : id ?? "unknown";
	}

	#createLock(lock) {
		const release = element("button", { type: "button", class: "small danger" }, "Release…");
		attribute(release, "aria-label", "Release lock " + lock.key + " by force");
		release.addEventListener("click", () => this.#actions.releaseLock(lock.key));
		return element("li", { class: "row lock" },
			element("div", { class: "what" },
				element("h3", { class: "key" }, lock.key),
				element("p", { class: "note" })),
			element("div", { class: "who" },
				element("p", { class: "label" }, "Held by"),
				element("ul", { class: "chips holders" }),
				element("p", { class: "note here" })),
			element("div", { class: "ttl" },
				element("p", { class: "label" }, "Lease"),
				element("div", { class: "bar", role: "meter", "aria-valuemin": 0, "aria-label": "Lease left of " + lock.key },
					element("span")),
				element("p", { class: "note" })),
			element("div", { class: "queue" },
				element("p", { class: "label" }, "Queue"),
				element("ol", { class: "chips waiters" }),
				element("p", { class: "note here" })),
			element("div", { class: "do" }, release));
	}

	#updateLock(node, { item: lock, gone }, report) {
		const holders = gone ? [] : lock.holders;
		const free = holders.length === 0;
		node.classList.toggle("free", free);
		const modes = lock.kind === "READ_WRITE" ? (holders[0]?.mode === "WRITE" ? "a writer" : "readers and writers")
			: "exclusive";
		text(node.querySelector(".what .note"), modes + " · fence " + lock.fencingToken);
		this.#chips(node.querySelector(".holders"), holders, (holder) => (holder.mode === "READ" ? "reads" : null),
			gone ? 0 : lock.holderCount);
		// Asked for at another moment than what the store knows, so perhaps of another holder.
		const mine = holders.some((holder) => holder.instance === report.instance.id);
		const held = mine ? report.held.filter((hold) => hold.key === lock.key) : [];
		const waiting = report.waiting.filter((wait) => wait.key === lock.key);
		text(node.querySelector(".who .here"), free ? "free" : threads(held));
		this.#lease(node.querySelector(".ttl"), lock, holders);
		this.#queue(node.querySelector(".queue"), gone ? { queue: [], queueLength: 0 } : lock, waiting);
		enable(node.querySelector(".do button"), !free);
	}

	#lease(node, lock, holders) {
		const bar = node.querySelector(".bar");
		const endless = holders.find((holder) => !(holder.ttlMillis >= 0));
		const first = holders.reduce((least, each) => (least && least.ttlMillis <= each.ttlMillis ? least : each), null);
		if (!first || endless) {
			show(bar, false);
			text(node.querySelector(".note"), endless ? "never ends by itself" : "");
			node.classList.remove("late");
			return;
		}
		const left = first.ttlMillis;
		const hold = holdOf(lock, first);
		const whole = Math.max(this.#longest.get(hold) ?? 0, left, 1);
		this.#longest.set(hold, whole);
		// Renewed at each third of its time, so that it never falls much below two thirds.
		const late = left < whole / 2;
		show(bar, true);
		attribute(bar, "aria-valuemax", Math.ceil(whole / 1000));
		attribute(bar, "aria-valuenow", Math.round(left / 1000));
		attribute(bar, "aria-valuetext", duration(left) + (late ? " left, not renewed" : " left"));
		bar.firstElementChild.style.transform = "scaleX(" + (left / whole).toFixed(3) + ")";
		node.classList.toggle("late", late);
		text(node.querySelector(".note"), duration(left) + (late ? " left, not renewed" : " left"));
	}

	/** A lease that is over says nothing about how long the next one is to be. */
	#forget(locks) {
		const held = new Set(locks.flatMap((lock) => lock.holders.map((holder) => holdOf(lock, holder))));
		for (const hold of this.#longest.keys()) {
			if (!held.has(hold)) {
				this.#longest.delete(hold);
			}
		}
	}

	#queue(node, { queue, queueLength }, waiting) {
		this.#chips(node.querySelector(".waiters"), queue, (waiter) => (waiter.permits > 1 ? waiter.permits + " permits"
			: waiter.mode === "READ" ? "reads" : waiter.mode === "WRITE" ? "writes" : null), queueLength);
		const here = waiting.length > 0 ? count(waiting.length, "call waits", "calls wait") + " in this instance" : "";
		text(node.querySelector(".here"), here || (queueLength === 0 ? "no waiters" : ""));
	}

	/** Actors in their order; neighbours that look the same are counted. */
	#chips(list, actors, extra, length = actors.length) {
		const runs = [];
		for (const actor of actors) {
			const note = extra(actor);
			const last = runs.at(-1);
			if (last && last.actor.instance === actor.instance && last.actor.foreign === actor.foreign && last.note === note) {
				last.times++;
			}
			else {
				runs.push({ actor, note, times: 1, index: runs.length });
			}
		}
		const shown = runs.slice(0, MAX_CHIPS);
		const more = length - shown.reduce((sum, run) => sum + run.times, 0);
		if (more > 0) {
			shown.push({ more, index: "more" });
		}
		reconcile(list, shown, (run) => run.index, () => element("li", { class: "chip" }, element("span"), " ", element("small")),
			(node, { actor, note, times, more: others }) => {
				const instance = this.#places.get(actor?.instance);
				text(node.firstElementChild, others ? "+ " + others.toLocaleString("en") : actor.foreign ? "a foreign client"
					: this.#name(actor.instance));
				const notes = [note, times > 1 && "× " + times].filter(Boolean).join(" ");
				text(node.lastElementChild, notes);
				show(node.lastElementChild, notes);
				attribute(node, "data-place", actor ? instance?.place ?? "none" : null);
				attribute(node, "title", instance ? instance.application + " at " + instance.host + " · " + instance.id : null);
			});
	}

	#createSemaphore(semaphore) {
		const key = semaphore.key;
		const input = element("input", { type: "number", inputmode: "numeric", min: 0, max: 1000000, required: "" });
		attribute(input, "aria-label", "Limit of " + key);
		input.addEventListener("input", () => input.dataset.typed = "yes");
		const clear = element("button", { type: "button", class: "small clear" }, "Clear");
		attribute(clear, "aria-label", "Clear the operator's limit of " + key);
		const release = element("button", { type: "button", class: "small danger release" }, "Release…");
		attribute(release, "aria-label", "Release all permits of " + key + " by force");
		const limits = element("form", { class: "limits", novalidate: "" },
			element("label", {}, element("span", {}, "Limit"), input),
			element("button", { class: "small set", "aria-label": "Set the limit of " + key }, "Set"), clear);
		limits.addEventListener("submit", (event) => {
			event.preventDefault();
			if (input.reportValidity()) {
				delete input.dataset.typed;
				this.#actions.setLimit(key, input.valueAsNumber);
			}
		});
		clear.addEventListener("click", () => {
			delete input.dataset.typed;
			this.#actions.clearLimit(key);
		});
		release.addEventListener("click", () => this.#actions.releaseSemaphore(key));
		return element("li", { class: "row semaphore" },
			element("div", { class: "what" },
				element("h3", { class: "key" }, key),
				element("p", { class: "note" })),
			element("div", { class: "who" },
				element("p", { class: "label" }, "Permits"),
				element("div", { class: "permits", role: "meter", "aria-valuemin": 0, "aria-label": "Permits used of " + key }),
				element("ul", { class: "chips holders" }),
				element("p", { class: "note here" })),
			element("div", { class: "queue" },
				element("p", { class: "label" }, "Queue"),
				element("ol", { class: "chips waiters" }),
				element("p", { class: "note here" })),
			element("div", { class: "do" }, limits, release));
	}

	#updateSemaphore(node, { item: semaphore, gone }, report) {
		const pool = gone ? { ...semaphore, used: 0, holders: [], queue: [], queueLength: 0 } : semaphore;
		const limit = pool.limit ?? 0;
		node.classList.toggle("free", pool.used === 0);
		node.classList.toggle("full", limit > 0 && pool.used >= limit);
		text(node.querySelector(".what .note"), (pool.limit === undefined ? "no limit known"
			: pool.used + " of " + count(limit, "permit") + " used") + (pool.limitSet ? " · set by an operator" : ""));
		permits(node.querySelector(".permits"), pool.used, limit);
		this.#chips(node.querySelector(".holders"), byInstance(pool.holders),
			(holder) => count(holder.permits, "permit"));
		text(node.querySelector(".who .here"), pool.used === 0 ? "all free" : "");
		this.#queue(node.querySelector(".queue"), pool, report.waiting.filter((wait) => wait.key === pool.key));
		const input = node.querySelector("input");
		if (!input.dataset.typed && document.activeElement !== input && input.value !== String(limit)) {
			input.value = limit;
		}
		enable(node.querySelector(".set"), true);
		enable(node.querySelector(".clear"), pool.limitSet);
		enable(node.querySelector(".release"), pool.used > 0);
	}

	#instances(locks, semaphores) {
		const self = locks.instance.id;
		const silent = new Set([...locks.fleet.silent, ...semaphores.fleet.silent]);
		const instances = [...locks.fleet.instances].sort((a, b) => (b.id === self) - (a.id === self)
			|| String(a.started).localeCompare(String(b.started)) || a.id.localeCompare(b.id));
		show(byId("instances-state"), instances.length === 0);
		text(byId("instances-state"), "No instance has made itself known yet.");
		reconcile(byId("instances"), instances, (instance) => instance.id, () => element("li", {},
			element("p", { class: "chip" }, element("span")), element("p", { class: "application" }),
			element("p", { class: "note" })), (node, instance) => {
			const [chip, application, note] = node.children;
			text(chip.firstElementChild, place(instance));
			attribute(chip, "data-place", this.#places.get(instance.id).place);
			attribute(chip, "title", instance.host);
			text(application, instance.application + (instance.id === self ? " · this instance" : ""));
			text(note, "started " + ago(instance.started) + " ago · " + instance.id
				+ (silent.has(instance.id) ? " · did not answer, its threads are not known" : ""));
			node.classList.toggle("silent", silent.has(instance.id));
		});
	}

}

/** Where an instance runs, in short: the machine without its domain, and the process. */
export function place({ id, host, process }) {
	return !host ? id : (/^[\d.]+$|:/.test(host) ? host : host.split(".")[0]) + "/" + process;
}

function holdOf(lock, holder) {
	return lock.fencingToken + " " + (holder.instance ?? "") + " " + lock.key;
}

/** What is there by key, and what was there until a short time ago. */
function linger(rows, items, now) {
	for (const item of items) {
		rows.set(item.key, { item, seen: now, gone: false });
	}
	for (const [key, row] of rows) {
		if (row.seen !== now) {
			row.gone = true;
			if (now - row.seen > LINGER) {
				rows.delete(key);
			}
		}
	}
	return [...rows.values()].sort((a, b) => (a.item.key < b.item.key ? -1 : 1));
}

function enable(button, enabled) {
	attribute(button, "disabled", enabled ? null : "");
}

function state(id, number, cursor, what, empty) {
	show(byId(id), number === 0 || cursor);
	text(byId(id), number === 0 ? empty : "There are more " + what + " than are shown here.");
}

function threads(held) {
	if (held.length === 0) {
		return "";
	}
	const first = held[0].thread + " here, for " + ago(held[0].since);
	return held.length > 1 ? first + ", and " + (held.length - 1) + " more" : first;
}

/** Permits that one instance holds in several leases are shown together. */
function byInstance(holders) {
	const sums = new Map();
	for (const holder of holders) {
		const sum = sums.get(holder.instance) ?? { instance: holder.instance, permits: 0 };
		sum.permits += holder.permits;
		sums.set(holder.instance, sum);
	}
	return [...sums.values()].sort((a, b) => String(a.instance).localeCompare(String(b.instance)));
}

/** A square for each permit; a bar where there are too many. */
function permits(node, used, limit) {
	const all = Math.max(used, limit);
	attribute(node, "aria-valuemax", all);
	attribute(node, "aria-valuenow", used);
	attribute(node, "aria-valuetext", used + " of " + limit + " used");
	const squares = all <= MAX_SQUARES ? all : 0;
	node.classList.toggle("as-bar", squares === 0 && all > 0);
	const parts = Array.from({ length: squares || (all > 0 ? 1 : 0) }, (ignored, index) => index);
	reconcile(node, parts, (index) => index, () => element("span"), (part, index) => {
		attribute(part, "class", squares === 0 ? "part" : index < used ? (index < limit ? "used" : "over") : "");
		part.style.transform = squares === 0 ? "scaleX(" + Math.min(1, used / all).toFixed(3) + ")" : "";
	});
}
