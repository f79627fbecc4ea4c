// Who is in the fleet, and how others name it.
import { now } from "./api.js";
import { ago, attribute, byId, element, reconcile, show, text } from "./dom.js";

/** Each instance says every minute that it is there. */
const OVERDUE = 75_000;

const MAX_CHIPS = 6;

export class Instances {

	#places = new Map();

	/** Gives each instance a colour for as long as this page is open. */
	place(instances) {
		for (const instance of instances) {
			const known = this.#places.get(instance.id);
			this.#places.set(instance.id, { ...instance, place: known?.place ?? this.#places.size % 8 });
		}
	}

	name(id) {
		const instance = this.#places.get(id);
		return instance ? shortName(instance) : id ?? "a foreign client";
	}

	of({ instance, foreign }) {
		return foreign || !instance ? "a foreign client" : this.name(instance);
	}

	show(self, known, silent) {
		const instances = [...known].sort((a, b) => (b.id === self) - (a.id === self)
			|| String(a.started).localeCompare(String(b.started)) || a.id.localeCompare(b.id));
		show(byId("instances-state"), instances.length === 0);
		text(byId("instances-state"), "No instance has made itself known yet.");
		reconcile(byId("instances"), instances, (instance) => instance.id, () => element("li", {},
			element("p", { class: "chip" }, element("span")), element("p", { class: "application" }),
			element("p", { class: "note" })), (node, instance) => {
			const [chip, application, note] = node.children;
			const overdue = now() - new Date(instance.seen) > OVERDUE;
			const away = silent.includes(instance.id) || overdue;
			text(chip.firstElementChild, shortName(instance));
			attribute(chip, "data-place", this.#places.get(instance.id).place);
			attribute(chip, "title", instance.host);
			text(application, instance.application + (instance.id === self ? " · this instance" : ""));
			text(note, "started " + ago(instance.started) + " ago · " + instance.id
				+ (away ? " · does not answer, last seen " + ago(instance.seen) + " ago" : ""));
			node.classList.toggle("silent", away);
		});
	}

	/** Actors in their order; neighbours that look the same are counted. */
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
				const notes = [note, times > 1 && "× " + times].filter(Boolean).join(" ");
				text(node.lastElementChild, notes);
				show(node.lastElementChild, notes);
				attribute(node, "data-place", actor ? instance?.place ?? "none" : null);
				attribute(node, "title", instance ? instance.application + " at " + instance.host + " · " + instance.id : null);
			});
	}

}

/** Where an instance runs, in short: the machine without its domain, and the process. */
function shortName({ id, host, process }) {
	return !host ? id : (/^[\d.]+$|:/.test(host) ? host : host.split(".")[0]) + "/" + process;
}
