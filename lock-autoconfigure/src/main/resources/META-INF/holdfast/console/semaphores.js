// The semaphores with their used permits, waiters and limits.
import { attribute, byId, count, element, enable, isEnabled, reconcile, show, text, visible, waiting } from
	"./dom.js";
import { Rows } from "./rows.js";

const MAX_SQUARES = 40;

export class SemaphoresView {

	#actions;

	#instances;

	#open;

	#rows = new Rows();

	writable = false;

	/** @param open called to show the details of a semaphore */
	constructor(actions, instances, open) {
		this.#actions = actions;
		this.#instances = instances;
		this.#open = open;
	}

	show(semaphores, wanted) {
		const rows = this.#rows.with(semaphores, byId("semaphores"), wanted);
		reconcile(byId("semaphores"), rows, (row) => row.item.key, (row) => this.#create(row.item),
			(node, { item, gone }) => this.#update(node, gone ? { ...item, used: 0, holders: [], queue: [], queueLength: 0 }
				: item));
		return rows.length;
	}

	#create({ key }) {
		const input = element("input", { type: "number", inputmode: "numeric", min: 0, max: 1000000000, required: "" });
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
			if (isEnabled(clear)) {
				delete input.dataset.typed;
				this.#actions.clearLimit(key);
			}
		});
		release.addEventListener("click", () => isEnabled(release) && this.#actions.release("semaphores", node.seen));
		const open = element("button", { type: "button", class: "open" }, element("span", {}, visible(key)));
		open.addEventListener("click", () => this.#open("semaphores", key));
		const node = element("li", { class: "row semaphore" },
			element("div", { class: "what" },
				element("h3", { class: "key" }, open),
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
		return node;
	}

	#update(node, semaphore) {
		const { limit = 0, used } = semaphore;
		node.seen = semaphore;
		node.classList.toggle("free", used === 0);
		node.classList.toggle("full", limit > 0 && used >= limit);
		text(node.querySelector(".what .note"), (semaphore.limit === undefined ? "no limit known"
			: used + " of " + count(limit, "permit") + " used") + (semaphore.limitSet ? " · set by an operator" : ""));
		permits(node.querySelector(".permits"), used, limit);
		this.#instances.chips(node.querySelector(".holders"), byInstance(semaphore.holders),
			(holder) => count(holder.permits, "permit"));
		text(node.querySelector(".who .here"), used === 0 ? "all free" : "");
		this.#instances.chips(node.querySelector(".waiters"), semaphore.queue,
			(waiter) => (waiter.permits > 1 ? waiter.permits + " permits" : null), semaphore.queueLength);
		text(node.querySelector(".queue .here"), waiting(semaphore));
		const input = node.querySelector("input");
		// Empty without a known limit: 0 would stop all requests.
		const known = String(semaphore.limit ?? "");
		if (!input.dataset.typed && document.activeElement !== input && input.value !== known) {
			input.value = known;
		}
		show(node.querySelector(".do"), this.writable);
		enable(node.querySelector(".clear"), semaphore.limitSet);
		enable(node.querySelector(".release"), used > 0);
	}

}

/** Sums the permits of several leases of an instance. */
function byInstance(holders) {
	const sums = new Map();
	for (const holder of holders) {
		const sum = sums.get(holder.instance) ?? { instance: holder.instance, permits: 0 };
		sum.permits += holder.permits;
		sums.set(holder.instance, sum);
	}
	return [...sums.values()].sort((a, b) => String(a.instance).localeCompare(String(b.instance)));
}

/** Shows a square for each permit, or a bar for many permits. */
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
