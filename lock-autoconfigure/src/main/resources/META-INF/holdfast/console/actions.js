// Changes by operators.
import { api } from "./api.js";
import { attribute, byId, fill, quoted, show } from "./dom.js";

const WHAT = {
	locks: {
		done: (key) => ["Released lock ", quoted(key), " by force."],
		free: (key) => ["Lock ", quoted(key), " is not held any more."]
	},
	semaphores: {
		done: (key) => ["Released the permits of ", quoted(key), " by force."],
		free: (key) => ["No permit of ", quoted(key), " is held any more."]
	}
};

export class Actions {

	#question;

	#changed;

	#toastTimer = 0;

	/** @param changed called after a change of the shown state */
	constructor(question, changed) {
		this.#question = question;
		this.#changed = changed;
		byId("dismiss").addEventListener("click", () => this.#say(null, []));
	}

	/** @param seen the shown state; a later grant is not released */
	async release(id, seen) {
		if (await this.#question.release(id, seen)) {
			await this.#run(async () => WHAT[id][(await api.release(id, seen)).released ? "done" : "free"](seen.key));
		}
		this.#changed();
	}

	async setLimit(key, limit) {
		if (limit > 0 || await this.#question.stop(key)) {
			await this.#run(async () => {
				await api.setLimit(key, limit);
				return ["The limit of ", quoted(key), " is " + limit + " now, at all instances"
					+ (limit > 0 ? "." : ": it stops all requests.")];
			});
		}
		this.#changed();
	}

	async clearLimit(key) {
		await this.#run(async () => {
			await api.clearLimit(key);
			return ["The limit of ", quoted(key), " is the configured limit again."];
		});
		this.#changed();
	}

	async #run(change) {
		try {
			this.#say("good", await change());
		}
		catch (error) {
			this.#say("bad", [error.outcome === "unknown"
				? "It is not known whether it was changed; look before you try again: " + error.message
				: error.outcome === "refused" ? error.message : "Nothing was changed: " + error.message]);
		}
	}

	/** Shows a success for some seconds, and a failure until it is dismissed. */
	#say(kind, words) {
		const toast = byId("announcement");
		clearTimeout(this.#toastTimer);
		attribute(toast.parentElement, "data-kind", kind);
		attribute(toast, "role", kind === "bad" ? "alert" : "status");
		show(byId("dismiss"), kind === "bad");
		fill(toast, ...words);
		if (kind === "good") {
			this.#toastTimer = setTimeout(() => this.#say(null, []), 10_000);
		}
	}

}
