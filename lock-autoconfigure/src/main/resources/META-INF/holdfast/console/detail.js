// Details of one lock or semaphore: holders with threads and times, and waiters.
import { ago, byId, count, duration, element, show, text, utc, visible } from "./dom.js";

export class DetailView {

	#instances;

	#id = null;

	#key = null;

	constructor(instances, changed) {
		this.#instances = instances;
		this.open = (id, key) => {
			this.#id = id;
			this.#key = key;
			text(byId("detail-title"), visible(key));
			this.#state("Loading…");
			if (!byId("detail").open) {
				byId("detail").showModal();
			}
			changed();
		};
	}

	keepIn(address) {
		if (this.wanted) {
			address.set("open", this.#id);
			address.set("key", this.#key);
		}
	}

	restore(address, ids) {
		const [id, key] = [address.get("open"), address.get("key")];
		if (ids.includes(id) && key) {
			this.open(id, key);
		}
		else {
			byId("detail").close();
		}
	}

	/** The shown lock or semaphore, or null. */
	get wanted() {
		return byId("detail").open ? { id: this.#id, key: this.#key } : null;
	}

	show(answer, { id, key }) {
		if (this.wanted?.id !== id || this.wanted.key !== key) {
			return;
		}
		if (!answer || answer.fleet.problem && !answer.fleet[id]?.length) {
			show(byId("detail-state"), true);
			text(byId("detail-state"), "It cannot be seen now. " + (byId("detail-facts").hasChildNodes()
				? "This is its last known state." : "Nothing is known yet."));
			return;
		}
		const one = answer.fleet[id]?.[0];
		if (!one) {
			this.#state("It is neither held nor waited for.");
			return;
		}
		show(byId("detail-state"), one.silent?.length);
		text(byId("detail-state"), count(one.silent?.length ?? 0, "instance") + " did not answer: "
			+ (one.silent ?? []).map((each) => this.#instances.name(each)).join(", ") + ". The threads there are not known.");
		this.#facts(id === "locks" ? [["Mode", (one.holders[0] ?? one.queue[0])?.mode === "READ" ? "readers" : "exclusive"],
			["Fencing token", one.fencingToken || "–"], ["Granted", one.granted
				? ago(one.granted) + " ago, at " + utc(one.granted) + " UTC" : "–"]]
			: [["Permits used", one.used + (one.limit === undefined ? "" : " of " + one.limit)],
				["Limit", one.limitSet ? "set by an operator" : "as configured"]]);
		const mode = (each) => each.permits !== undefined ? count(each.permits, "permit") : each.mode?.toLowerCase() ?? "";
		table("detail-holders", "Held by " + count(one.holderCount, "holder"), ["Instance", "As", "Thread", "Name", "Note", "For",
			"Since (UTC)", "Lease left"], one.holders.map((holder) => [this.#instances.of(holder), mode(holder),
			holder.thread ?? "–", holder.name ?? "–", holder.note ?? "–", ...since(holder), holder.ttlMillis < 0 ? "no end" : duration(holder.ttlMillis)]));
		const waiters = [...one.queue, ...(one.inside ?? []).map((waiter) => ({ ...waiter, inside: true }))];
		table("detail-queue", one.queueLength + " in the queue" + (one.inside?.length ? ", " + one.inside.length
			+ " behind them in their instances" : ""), ["Place", "Instance", "As", "Thread", "Name", "Waits for",
			"Since (UTC)"], waiters.map((waiter, index) => [waiter.inside ? "inside" : index + 1, this.#instances.of(waiter), mode(waiter),
			waiter.thread ?? "–", waiter.name ?? "–", ...since(waiter)]));
	}

	#facts(facts) {
		rebuild(byId("detail-facts"), facts.flat(), () => facts.map(([term, value]) => element("div", {}, element("dt", {}, term),
			element("dd", {}, String(value)))));
	}

	#state(words) {
		show(byId("detail-state"), true);
		text(byId("detail-state"), words);
		this.#facts([]);
		["detail-holders", "detail-queue"].forEach((id) => byId(id).replaceChildren());
	}

}

function since({ since }) {
	return since ? [ago(since), utc(since)] : ["–", "–"];
}

function table(id, caption, head, rows) {
	const cells = (tag, values) => element("tr", {}, ...values.map((value) => element(tag, tag === "th" ? { scope: "col" } : {},
		visible(String(value)))));
	rebuild(byId(id), rows.length === 0 ? [caption] : [caption, ...head, ...rows.flat()].map((each) => visible(String(each))),
		() => [element("caption", {}, caption), ...(rows.length === 0 ? [] : [
			element("thead", {}, cells("th", head)), element("tbody", {}, ...rows.map((row) => cells("td", row)))])]);
}

/** Writes only changed texts if the number of parts is the same, so that a selection stays. */
function rebuild(node, texts, create) {
	const leaves = [...node.querySelectorAll("dt, dd, caption, th, td")];
	if (leaves.length === texts.length) {
		leaves.forEach((leaf, i) => text(leaf, texts[i]));
	}
	else {
		node.replaceChildren(...create());
	}
}
