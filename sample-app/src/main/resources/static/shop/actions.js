// What users start from the page.
import { api } from "./api.js";
import { attribute, byId, count, duration, show, text } from "./dom.js";

const SKU = "SKU0001";

const STOCK_INTERVAL = 250;

export class Actions {

	constructor() {
		this.#form("sale", (values, button) => this.#sell(values, button.value === "true"));
		this.#form("quotes", (values) => this.#askForQuotes(values));
		this.#form("freeze", (values) => this.#freeze(values));
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
		return { good: freeze.refusal !== undefined && others.failed === 0, text: count(others.succeeded, "other")
			+ " wrote after waiting up to " + duration(others.waits.maxMillis) + ". When the holder woke up, its lease "
			+ (freeze.noticed ? "told it that it was lost" : "did not know yet that it was lost") + "; its write was "
			+ (freeze.refusal === undefined ? "taken." : "refused: " + freeze.refusal) };
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
				}
		});
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
