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
async function send(method, url, { body, patience = PATIENCE } = {}) {
	const headers = body === undefined ? {} : { "Content-Type": "application/json" };
	const options = { method, headers, cache: "no-store", signal: AbortSignal.timeout(patience),
		body: body === undefined ? undefined : JSON.stringify(body) };
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

/** Keys are no part of the path, of which servers and browsers take parts out. */
function named(key) {
	return "?" + new URLSearchParams({ key });
}

/** As many pages of what is stored as a reader may want to see at once. */
async function all(endpoint, part, maxPages = 3) {
	const first = await json("GET", "actuator/" + endpoint + "?limit=200");
	const fleet = { instances: [], [part]: [], cycles: [], silent: [], ...first.fleet };
	for (let page = 1; fleet.cursor && page < maxPages; page++) {
		const next = await json("GET", "actuator/" + endpoint + "?limit=200&cursor=" + encodeURIComponent(fleet.cursor));
		fleet[part] = fleet[part].concat(next.fleet[part] ?? []);
		fleet.cursor = next.fleet.cursor;
		fleet.problem ??= next.fleet.problem;
	}
	return { ...first, fleet };
}

// A round of calls lasts as long as the shop waits for its instances.
const ROUND = { patience: 120_000 };

export const api = {
	locks: () => all("locks", "locks"),
	semaphores: () => all("semaphores", "semaphores"),
	meters: () => send("GET", "actuator/prometheus"),
	releaseLock: (key) => json("DELETE", "actuator/locks" + named(key)),
	releaseSemaphore: (key) => json("DELETE", "actuator/semaphores" + named(key)),
	setLimit: (key, limit) => json("POST", "actuator/semaphores", { body: { key, limit } }),
	clearLimit: (key) => json("POST", "actuator/semaphores", { body: { key, clear: true } }),
	sell: (sku, stock, buyers, lock) => json("POST", "sales?" + new URLSearchParams({ sku, stock, buyers, lock }), ROUND),
	stock: (sku) => json("GET", "sales/" + encodeURIComponent(sku)),
	quotes: (orders) => json("POST", "quotes?" + new URLSearchParams({ orders }), ROUND),
	freeze: (seconds, writers) => json("POST", "freeze?" + new URLSearchParams({ seconds, writers }), ROUND)
};
