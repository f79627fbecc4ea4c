// The locks with their holders, times and waiters.
import { now } from "./api.js";
import { ago, attribute, byId, duration, element, enable, isEnabled, reconcile, show, text, visible, waiting } from
	"./dom.js";
import { Rows } from "./rows.js";

/** Growth of a time to live, in milliseconds, that only a renewal causes. */
const RENEWED = 500;

export class LocksView {

	#actions;

	#instances;

	#open;

	#rows = new Rows();

	/** Observed times to live, by hold. */
	#seen = new Map();

	writable = false;

	/** @param open called to show the details of a lock */
	constructor(actions, instances, open) {
		this.#actions = actions;
		this.#instances = instances;
		this.#open = open;
	}

	show(locks, wanted) {
		const rows = this.#rows.with(locks, byId("locks"), wanted);
		reconcile(byId("locks"), rows, (row) => row.item.key, (row) => this.#create(row.item),
			(node, { item, gone }) => this.#update(node, gone ? { ...item, holders: [], holderCount: 0, queue: [],
				queueLength: 0 } : item));
		this.#forget(locks);
		return rows.length;
	}

	#create(lock) {
		const release = element("button", { type: "button", class: "small danger" }, "Release…");
		attribute(release, "aria-label", "Release lock " + lock.key + " by force");
		const open = element("button", { type: "button", class: "open" }, element("span", {}, visible(lock.key)));
		open.addEventListener("click", () => this.#open("locks", lock.key));
		const node = element("li", { class: "row lock" },
			element("div", { class: "what" },
				element("h3", { class: "key" }, open),
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
		release.addEventListener("click", () => isEnabled(release) && this.#actions.release("locks", node.seen));
		return node;
	}

	#update(node, lock) {
		const free = lock.holders.length === 0;
		node.seen = lock;
		node.classList.toggle("free", free);
		const modes = (lock.holders[0] ?? lock.queue[0])?.mode === "READ" ? "readers" : "exclusive";
		text(node.querySelector(".what .note"), modes + (lock.fencingToken ? " · fencing token " + lock.fencingToken : ""));
		this.#instances.chips(node.querySelector(".holders"), lock.holders,
			(holder) => (holder.mode === "READ" ? "reads" : null), lock.holderCount);
		text(node.querySelector(".who .here"), free ? "free" : lock.granted ? "for " + ago(lock.granted) : "");
		this.#lease(node.querySelector(".ttl"), lock);
		this.#instances.chips(node.querySelector(".waiters"), lock.queue, (waiter) => (waiter.mode === "READ" ? "reads" : null),
			lock.queueLength);
		text(node.querySelector(".queue .here"), waiting(lock));
		const button = node.querySelector(".do button");
		show(button, this.writable);
		enable(button, !free);
	}

	#lease(node, lock) {
		const bar = node.querySelector(".bar");
		const endless = lock.holders.find((holder) => !(holder.ttlMillis >= 0));
		const first = lock.holders.reduce((least, each) => (least && least.ttlMillis <= each.ttlMillis ? least : each), null);
		if (!first || endless) {
			show(bar, false);
			text(node.querySelector(".note"), endless ? "never ends by itself" : "");
			node.classList.remove("late");
			return;
		}
		const left = first.ttlMillis;
		const hold = holdOf(lock, first);
		const before = this.#seen.get(hold);
		const age = lock.granted ? Math.abs(now() - new Date(lock.granted)) : Infinity;
		// Before the first renewal, the whole is the rest and the age; after an observed renewal, about the rest.
		const young = age < left / 3;
		const longest = Math.max(before?.longest ?? 0, left, 1);
		const whole = Math.max(before?.whole ?? 0, longest, young ? left + age : 0);
		const known = before?.known || young || before && left > before.left + RENEWED;
		this.#seen.set(hold, { left, longest, whole, known });
		// A lease is renewed at each third of its time, and rarely has less than two thirds left. A foreign lock need not be
		// renewed.
		const late = !first.foreign && (lock.late === true || left < longest / 2);
		// A bar needs the whole time, which is not known of a lease first seen in the middle of its time.
		show(bar, known);
		attribute(bar, "aria-valuemax", Math.ceil(whole / 1000));
		attribute(bar, "aria-valuenow", Math.round(left / 1000));
		attribute(bar, "aria-valuetext", duration(left) + (late ? " left, not renewed" : " left"));
		bar.firstElementChild.style.transform = "scaleX(" + (left / whole).toFixed(3) + ")";
		// A lease without renewal, as within its minHold, is no sign of trouble; the lease of a dead instance is.
		node.classList.toggle("late", late && this.#instances.silence(first.instance) !== "");
		text(node.querySelector(".note"), duration(left) + (late ? " left, not renewed" : " left"));
	}

	/** Forgets ended leases: the next lease may have another time. */
	#forget(locks) {
		const held = new Set(locks.flatMap((lock) => lock.holders.map((holder) => holdOf(lock, holder))));
		for (const hold of this.#seen.keys()) {
			if (!held.has(hold)) {
				this.#seen.delete(hold);
			}
		}
	}

}

function holdOf(lock, holder) {
	return lock.fencingToken + " " + (holder.instance ?? "") + " " + lock.key;
}
