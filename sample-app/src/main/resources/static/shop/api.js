// What the page asks the instance that served it.

const PATIENCE = 10_000;

export class RefusedError extends Error {

	constructor(status, message) {
		super(message);
		this.status = status;
	}

}

export class UnreachableError extends Error {
}

/** Sends a request; an answer other than 2xx, or none in time, is an error that says why. */
async function send(method, url, { patience = PATIENCE } = {}) {
	const options = { method, cache: "no-store", signal: AbortSignal.timeout(patience) };
	const { status, ok, answer } = await exchange(url, options);
	if (!ok) {
		throw new RefusedError(status, reason(status, answer));
	}
	return answer;
}

async function exchange(url, options) {
	try {
		const response = await fetch(url, options);
		return { status: response.status, ok: response.ok, answer: await response.text() };
	}
	catch (error) {
		throw new UnreachableError(error.name === "TimeoutError" ? "This instance did not answer in time."
			: "This instance does not answer.", { cause: error });
	}
}

async function json(method, url, options) {
	const answer = await send(method, url, options);
	// What is null is left out, as it is by some servers.
	return answer === "" ? null : JSON.parse(answer, (name, value) => value ?? undefined);
}

function reason(status, answer) {
	try {
		const problem = JSON.parse(answer);
		return problem.detail ?? problem.message ?? problem.error ?? "Status " + status;
	}
	catch {
		return "Status " + status;
	}
}

// A round of calls lasts as long as the shop waits for its instances.
const ROUND = { patience: 120_000 };

export const api = {
	meters: () => send("GET", "actuator/prometheus"),
	sell: (sku, stock, buyers, lock) => json("POST", "sales?" + new URLSearchParams({ sku, stock, buyers, lock }), ROUND),
	stock: (sku) => json("GET", "sales/" + encodeURIComponent(sku)),
	quotes: (orders) => json("POST", "quotes?" + new URLSearchParams({ orders }), ROUND),
	freeze: (seconds, writers) => json("POST", "freeze?" + new URLSearchParams({ seconds, writers }), ROUND)
};
