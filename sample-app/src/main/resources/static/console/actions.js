// What users start or change from the page.
import { api } from "./api.js";
import { attribute, byId, count, duration, show, text } from "./dom.js";

const SKU = "SKU0001";

const STOCK_INTERVAL = 250;

export class Actions {

	#changed;

	#toastTimer = 0;

	/** @param changed called when something was changed that the page shows */
	constructor(changed) {
		this.#changed = changed;
		this.#form("sale", (values, button) => this.#sell(values, button.value === "true"));
		this.#form("quotes", (values) => this.#askForQuotes(values));
		this.#form("freeze", (values) => this.#freeze(values));
	}

	async releaseLock(key) {
		if (await confirmed("Release lock ‘" + key + "’?",
				"The next one in the queue gets it at once, while its holder goes on until it notices, at its next renewal.")) {
			await this.#tell(async () => (await api.releaseLock(key)).released ? "Released lock ‘" + key + "’ by force."
				: "Lock ‘" + key + "’ is not held any more.");
		}
	}

	async releaseSemaphore(key) {
		if (await confirmed("Release all permits of ‘" + key + "’?",
				"Waiting calls get them at once, while their holders go on until they notice, at their next renewal.")) {
			await this.#tell(async () => (await api.releaseSemaphore(key)).released
				? "Released the permits of ‘" + key + "’ by force." : "No permit of ‘" + key + "’ is held any more.");
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

	async #sell({ stock, buyers }, lock) {
		const watch = setInterval(() => drainAsTold(stock), STOCK_INTERVAL);
		drain(stock, stock);
		show(byId("stock"), true);
		try {
			const sale = await api.sell(SKU, stock, buyers, lock);
			const round = lock ? sale.withLock : sale.withoutLock;
			return { good: round.oversold === 0 && round.failed === 0, text: "Sold " + count(round.sold, "piece") + " of " + stock
				+ (round.oversold > 0 ? ", " + round.oversold.toLocaleString("en") + " too many" : "")
				+ (round.failed > 0 ? ", " + count(round.failed, "purchase") + " failed" : "") + " in " + duration(round.millis)
				+ (lock ? "; half of the buyers waited up to " + duration(round.lockWaits.p50Millis) + ", all up to "
					+ duration(round.lockWaits.maxMillis) : "") + ". " + served("Buyers", round.instances) };
		}
		finally {
			clearInterval(watch);
			await drainAsTold(stock);
		}
	}

	async #askForQuotes({ orders }) {
		const quotes = await api.quotes(orders);
		const { withoutSemaphore: without, withSemaphore: limited } = quotes;
		return { good: limited.calls.failed === 0, text: "The carrier saw " + count(without.highest, "call")
			+ " at a time without permits, " + limited.highest + " with them"
			+ (limited.calls.failed > 0 ? "; " + count(limited.calls.failed, "call") + " got none in time" : "")
			+ ". It took " + duration(without.calls.millis) + " and " + duration(limited.calls.millis) + ". "
			+ served("Calls", limited.calls.instances) };
	}

	async #freeze({ seconds, writers }) {
		const freeze = await api.freeze(seconds, writers);
		const others = freeze.others;
		return { good: freeze.refusedFor !== undefined && others.failed === 0, text: count(others.succeeded, "other")
			+ " wrote after waiting up to " + duration(others.waits.maxMillis) + ". When the holder woke up, its lease "
			+ (freeze.noticed ? "told it that it was lost" : "did not know yet that it was lost") + "; its write with fence "
			+ freeze.fence + (freeze.refusedFor === undefined ? " was taken." : " was refused, for " + freeze.refusedFor
				+ " had been seen.") };
	}

	#form(id, run) {
		const form = byId(id);
		const result = form.querySelector(".result");
		form.addEventListener("submit", async (event) => {
			event.preventDefault();
			if (form.dataset.busy || !form.reportValidity()) {
				return;
			}
			busy(form, true);
			attribute(result, "data-kind", "busy");
			text(result, "At work…");
			this.#changed();
			try {
				const outcome = await run(numbers(form), event.submitter ?? form.querySelector("button"));
				attribute(result, "data-kind", outcome.good ? "good" : "bad");
				text(result, outcome.text);
			}
			catch (error) {
				attribute(result, "data-kind", "bad");
				text(result, error.message);
			}
			finally {
				busy(form, false);
				this.#changed();
			}
		});
	}

	async #tell(change) {
		const toast = byId("announcement");
		try {
			text(toast, await change());
			attribute(toast, "data-kind", "good");
		}
		catch (error) {
			text(toast, error.message);
			attribute(toast, "data-kind", "bad");
		}
		clearTimeout(this.#toastTimer);
		this.#toastTimer = setTimeout(() => text(toast, ""), 10_000);
		this.#changed();
	}

}

function numbers(form) {
	return Object.fromEntries([...form.querySelectorAll("input")].map((input) => [input.name, input.valueAsNumber]));
}

/** Not by disabling the buttons: the one that was pressed would lose the focus. */
function busy(form, isBusy) {
	if (isBusy) {
		form.dataset.busy = "yes";
	}
	else {
		delete form.dataset.busy;
	}
	form.querySelectorAll("button").forEach((button) => attribute(button, "aria-disabled", isBusy || null));
}

async function drainAsTold(stock) {
	try {
		drain((await api.stock(SKU)).left ?? stock, stock);
	}
	catch {
		// The next time it may be told; how the sale went is told by its own answer.
	}
}

function drain(left, stock) {
	byId("stock-left").max = stock;
	byId("stock-left").value = left;
	text(byId("stock-text"), left.toLocaleString("en") + " of " + stock.toLocaleString("en"));
}

function served(who, instances) {
	return who + " by instance: " + Object.entries(instances).map(([port, calls]) => port + " " + calls).join(", ") + ".";
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
