// Confirmation of a change that may do harm, with the current holder.
import { api, fenceOf } from "./api.js";
import { ago, byId, count, element, fill, quoted, show, text } from "./dom.js";

const INTERVAL = 2000;

const MAX_HOLDERS = 3;

export class Question {

	#instances;

	constructor(instances) {
		this.#instances = instances;
	}

	/** Returns whether the user confirms to stop all requests. */
	stop(key) {
		this.#show([], "Limit 0 stops all requests for its permits, at all instances, until another limit is set or it is "
			+ "cleared. Holders keep what they have.");
		return this.#answer(["Stop all requests for permits of ", quoted(key), "?"], "Set limit 0");
	}

	/** Returns whether the user confirms the release of the shown holder, which is not possible after a change of the holder. */
	async release(id, seen) {
		this.#show(this.#facts(id, seen), consequence(id, seen));
		const answer = this.#answer(id === "locks" ? ["Release lock ", quoted(seen.key), "?"]
			: ["Release all permits of ", quoted(seen.key), "?"], "Release by force");
		let open = true;
		let timer = 0;
		const look = async () => {
			const one = await api.one(id, seen.key).then(({ fleet }) => fleet[id]?.[0] ?? (fleet.problem ? null : {}),
				() => null);
			if (open) {
				// Without an answer, the last state stays: the lock of another holder would not be released.
				if (one) {
					this.#look(id, seen, one);
				}
				timer = setTimeout(look, INTERVAL);
			}
		};
		look();
		const confirmed = await answer;
		open = false;
		clearTimeout(timer);
		return confirmed;
	}

	#look(id, seen, one) {
		if (!one.holders?.length) {
			this.#stopped("It is not held any more.");
			return;
		}
		this.#show(this.#facts(id, one), consequence(id, one));
		if (id === "locks" && fenceOf(seen) !== undefined && fenceOf(one) !== fenceOf(seen)) {
			this.#stopped("The holder has changed since you saw it: it is " + this.#instances.of(one.holders[0])
				+ " now. Cancel, and look again.");
		}
	}

	#stopped(why) {
		const yes = byId("confirm-yes");
		show(byId("confirm-changed"), true);
		text(byId("confirm-changed"), why);
		if (document.activeElement === yes) {
			byId("confirm").querySelector("[value=no]").focus();
		}
		yes.disabled = true;
	}

	#facts(id, { holders, holderCount = holders.length, granted, fencingToken }) {
		const age = (holder) => (holder.since ? ago(holder.since) : granted && holderCount === 1 ? ago(granted) : null);
		if (id === "locks" && holderCount === 1) {
			const [holder] = holders;
			return [["Holder", this.#instances.of(holder)], ["Thread", holder.thread], ["Name", holder.name], ["For", age(holder)],
				["Fencing token", holder.foreign ? null : fencingToken]];
		}
		const lines = holders.slice(0, MAX_HOLDERS).map((holder) => [this.#instances.of(holder), holder.permits
			&& count(holder.permits, "permit"), holder.thread && "thread " + holder.thread, age(holder) && "for " + age(holder)]
			.filter(Boolean).join(", "));
		return [["Holders", lines.join("; ") + (holderCount > lines.length ? "; and " + (holderCount - lines.length) + " more"
			: "")]];
	}

	#show(facts, words) {
		fill(byId("confirm-facts"), ...facts.filter(([, value]) => value).map(([term, value]) => element("div", {},
			element("dt", {}, term), element("dd", {}, String(value)))));
		text(byId("confirm-text"), words);
	}

	async #answer(title, yes) {
		const dialog = byId("confirm");
		fill(byId("confirm-title"), ...title);
		text(byId("confirm-yes"), yes);
		byId("confirm-yes").disabled = false;
		show(byId("confirm-changed"), false);
		dialog.returnValue = "no";
		dialog.showModal();
		return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"),
			{ once: true }));
	}

}

/** Returns the consequence for waiters and holders. */
function consequence(id, { holders, holderCount = holders.length, queueLength, waiters = queueLength, inside }) {
	const waiting = Math.max(waiters, queueLength + (inside?.length ?? 0));
	if (id === "semaphores") {
		return (waiting > 0 ? "Calls that wait get them at once" : "The next calls get them at once")
			+ ", while the holders go on until they notice, at their next renewal.";
	}
	const next = waiting > 0 ? "The next one that waits gets it at once" : "The next request gets it at once";
	if (holders.some((holder) => holder.foreign)) {
		return next + ", while its foreign holder goes on and never notices.";
	}
	return next + (holderCount > 1 ? ", while all " + holderCount + " readers go on until they notice, each at its next renewal."
		: ", while its holder goes on until it notices, at its next renewal.");
}
