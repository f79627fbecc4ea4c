// The instances of the fleet, and their names on the page.
import { now } from "./api.js";
import { ago, attribute, byId, element, reconcile, show, text } from "./dom.js";

/** Time without a sign of an instance, which refreshes its registration every minute. */
const OVERDUE = 75_000;

/** Maximum number of instances in an answer. */
const MOST = 1000;

const MAX_CHIPS = 6;

export class Instances {

	/** All instances seen since the page was opened, with their colours. */
	#places = new Map();

	#present = [];

	#self = null;

	/** Whether the last answer had all instances. */
	#complete = false;

	/** Time of the last answer. */
	#at = 0;

	/** @param silent the ids of instances without an answer, or null if they are not known */
	take(self, known, silent) {
		this.#at = now();
		this.#self = self.id;
		this.#complete = known.length > 0 && known.length < MOST;
		// The answering instance is present, also if Redis has forgotten it.
		this.#present = known.some((each) => each.id === self.id) ? known : [self, ...known];
		for (const instance of this.#present) {
			const before = this.#places.get(instance.id);
			const registered = Number(new Date(instance.seen));
			const quiet = silent?.includes(instance.id) ?? false;
			this.#places.set(instance.id, { ...instance, registered, quiet, place: before?.place ?? this.#places.size % 8,
				seen: instance.id === self.id || silent && !quiet ? this.#at : Math.max(registered, before?.seen ?? 0),
				// A polling instance never answers, but refreshes its registration.
				polls: quiet && before?.quiet && (before.polls || registered > before.registered) });
		}
	}

	/** Returns whether an instance gave the last answer; true for all before the first answer. */
	isSelf({ id }) {
		return this.#self === null || this.#self === id;
	}

	/** Returns the sign that an instance may be dead, as text, or "". */
	silence(id) {
		const instance = this.#places.get(id);
		if (!instance) {
			return id && this.#complete ? "not seen for 3 min" : "";
		}
		const overdue = this.#at - instance.seen > OVERDUE;
		return overdue || instance.quiet && !instance.polls ? "silent for " + ago(instance.seen) : "";
	}

	name(id) {
		const instance = this.#places.get(id);
		return instance ? shortName(instance) : id ?? "a foreign client";
	}

	/** Returns the name of a holder or waiter, with a sign that it may be dead. */
	of({ instance, foreign, application, host, process }) {
		const silence = this.silence(instance);
		// An instance that has left is known by this answer alone.
		const name = host && !this.#places.has(instance) ? shortName({ id: instance, host, process }) : this.name(instance);
		return foreign || !instance ? "a foreign client"
			: (application ? application + " at " : "") + name + (silence && ", " + silence);
	}

	show() {
		const instances = [...this.#present].sort((a, b) => (b.id === this.#self) - (a.id === this.#self)
			|| String(a.started).localeCompare(String(b.started)) || a.id.localeCompare(b.id));
		text(byId("count-instances"), instances.length);
		show(byId("instances-state"), false);
		reconcile(byId("instances"), instances, (instance) => instance.id, () => element("li", {},
			element("p", { class: "chip" }, element("span")), element("p", { class: "application" }),
			element("p", { class: "note" })), (node, instance) => {
			const [chip, application, note] = node.children;
			const { place, seen } = this.#places.get(instance.id);
			const silent = this.silence(instance.id);
			text(chip.firstElementChild, shortName(instance));
			attribute(chip, "data-place", place);
			attribute(chip, "title", instance.host);
			text(application, (instance.application ?? "") + (instance.id === this.#self ? " · this instance" : ""));
			text(note, "started " + ago(instance.started) + " ago · " + instance.id
				+ (silent && " · does not answer, last seen " + ago(seen) + " ago"));
			node.classList.toggle("silent", Boolean(silent));
		});
	}

	/** Shows holders or waiters in their order. Equal neighbours are counted. */
	chips(list, actors, extra, length = actors.length) {
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
				text(node.firstElementChild, others ? "+ " + others.toLocaleString("en") : this.name(actor.instance));
				const silence = this.silence(actor?.instance);
				const notes = [[note, times > 1 && "× " + times].filter(Boolean).join(" "), silence].filter(Boolean).join(", ");
				text(node.lastElementChild, notes);
				show(node.lastElementChild, notes);
				node.classList.toggle("silent", Boolean(silence));
				attribute(node, "data-place", actor ? instance?.place ?? "none" : null);
				attribute(node, "title", instance ? instance.application + " at " + instance.host + " · " + instance.id : null);
			});
	}

}

/** Returns the place of an instance in short: the host without its domain, and the process. */
function shortName({ id, host, process }) {
	return !host ? id : (/^[\d.]+$|:/.test(host) ? host : host.split(".")[0]) + "/" + process;
}
