// What operators change.
import { api } from "./api.js";
import { attribute, byId, text } from "./dom.js";

const WHAT = {
	locks: {
		title: (key) => "Release lock ‘" + key + "’?",
		question: "The next one in the queue gets it at once, while its holder goes on until it notices, at its next renewal.",
		done: (key) => "Released lock ‘" + key + "’ by force.",
		free: (key) => "Lock ‘" + key + "’ is not held any more."
	},
	semaphores: {
		title: (key) => "Release all permits of ‘" + key + "’?",
		question: "Waiting calls get them at once, while their holders go on until they notice, at their next renewal.",
		done: (key) => "Released the permits of ‘" + key + "’ by force.",
		free: (key) => "No permit of ‘" + key + "’ is held any more."
	}
};

export class Actions {

	#changed;

	#toastTimer = 0;

	/** @param changed called when something was changed that the page shows */
	constructor(changed) {
		this.#changed = changed;
	}

	async release(id, key) {
		const what = WHAT[id];
		if (await confirmed(what.title(key), what.question)) {
			await this.#tell(async () => (await api.release(id, key)).released ? what.done(key) : what.free(key));
		}
	}

	setLimit(key, limit) {
		return this.#tell(async () => {
			await api.setLimit(key, limit);
			return "The limit of ‘" + key + "’ is " + limit + " now, at all instances.";
		});
	}

	clearLimit(key) {
		return this.#tell(async () => {
			await api.clearLimit(key);
			return "The limit of ‘" + key + "’ is what is configured again.";
		});
	}

	async #tell(change) {
		const toast = byId("announcement");
		try {
			text(toast, await change());
			attribute(toast, "data-kind", "good");
		}
		catch (error) {
			text(toast, "Nothing was changed: " + error.message);
			attribute(toast, "data-kind", "bad");
		}
		clearTimeout(this.#toastTimer);
		this.#toastTimer = setTimeout(() => text(toast, ""), 10_000);
		this.#changed();
	}

}

function confirmed(title, question) {
	const dialog = byId("confirm");
	text(byId("confirm-title"), title);
	text(byId("confirm-text"), question);
	dialog.returnValue = "no";
	dialog.showModal();
	return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"),
		{ once: true }));
}
