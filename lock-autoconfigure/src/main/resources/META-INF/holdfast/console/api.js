// Requests to the endpoints of the serving instance.

const PATIENCE = 10_000;

const PAGE = 50;

export class RefusedError extends Error {

	constructor(status, message) {
		super(message);
		this.status = status;
	}

}

export class UnreachableError extends Error {
}

let settings;

let csrf = null;

/** Lead of this machine's clock over the instance's, in milliseconds; 0 if it is too small to be known. */
let ahead = 0;

export function now() {
	return Date.now() - ahead;
}

/** Returns the rights to read and change, which are requested once, and again before each change. */
export async function rights() {
	if (!settings) {
		const { answer, headers } = await send("GET", new URL("settings", import.meta.url));
		csrf = headers.get("Holdfast-Csrf");
		settings = JSON.parse(answer);
	}
	return settings;
}

/** Another instance, or a restarted instance, may allow other actions. */
export function forgetRights() {
	settings = undefined;
}

async function endpoint(id, parameters = {}) {
	const { depth, ...endpoints } = await rights();
	const url = new URL("../".repeat(depth) + endpoints[id].path, import.meta.url);
	for (const [name, value] of Object.entries(parameters)) {
		if (value !== undefined && value !== "") {
			url.searchParams.set(name, value);
		}
	}
	return url;
}

/** Sends a request. Throws an error with the reason for an answer other than 2xx, or without an answer in time. */
async function send(method, url, { body, headers = {} } = {}) {
	const options = { method, cache: "no-store", signal: AbortSignal.timeout(PATIENCE), headers: { Accept: "application/json",
		...headers } };
	if (body !== undefined) {
		options.headers["Content-Type"] = "application/json";
		options.body = JSON.stringify(body);
	}
	const response = await exchange(url, options);
	if (!response.ok) {
		throw new RefusedError(response.status, reason(response));
	}
	if (response.redirected) {
		throw new RefusedError(401, "sign in again");
	}
	const date = Date.parse(response.headers.get("Date") ?? "");
	// A smaller difference may come from the rounding to seconds and the time of the answer.
	ahead = Math.abs(Date.now() - date) > 3000 ? Date.now() - date : 0;
	return response;
}

async function exchange(url, options) {
	try {
		const response = await fetch(url, options);
		const { status, ok, redirected, headers } = response;
		return { status, ok, redirected, headers, answer: await response.text() };
	}
	catch (error) {
		throw new UnreachableError(error.name === "TimeoutError" ? "This instance did not answer in time."
			: "This instance does not answer.", { cause: error });
	}
}

function reason({ status, answer }) {
	let text;
	try {
		const problem = JSON.parse(answer);
		text = problem.problem ?? problem.detail ?? problem.message ?? problem.error;
	}
	catch {
		// Not every server gives a reason.
	}
	return (text ?? "status") + " (" + status + ")";
}

function parse(answer) {
	// Null values are left out, as some servers leave them out.
	return answer === "" ? null : JSON.parse(answer, (name, value) => value ?? undefined);
}

async function read(id, parameters) {
	return parse((await send("GET", await endpoint(id, parameters))).answer);
}

/**
 * Sends a change. A foreign page cannot: browsers check these methods and this type of content with the server first.
 * An error has the outcome, which is unknown without an answer.
 */
async function change(method, id, parameters, body) {
	// Request the token again: the session may have changed.
	settings = undefined;
	const url = await endpoint(id, parameters);
	const [name, token] = csrf?.split(" ") ?? [];
	const cookie = document.cookie.split("; ").find((each) => each.startsWith("XSRF-TOKEN="))?.split("=")[1];
	const tokens = [name && { [name]: token }, cookie && { "X-XSRF-TOKEN": cookie }].filter(Boolean);
	// The expected token depends on the configuration of Spring Security.
	for (const headers of tokens.length > 0 ? tokens : [{}]) {
		try {
			return parse((await send(method, url, { body, headers })).answer);
		}
		catch (error) {
			if (error.status === 403 && headers !== tokens.at(-1) && tokens.length > 0) {
				continue;
			}
			throw outcome(error, tokens.length > 0);
		}
	}
}

function outcome(error, withToken) {
	const { status } = error;
	if (status === 403) {
		error.message = (withToken ? "" : "there is no token against forgery (CSRF) to send, or ")
			+ "your user may not change this (403)";
	}
	else if (status === 409) {
		error.outcome = "refused";
	}
	else if (!(status >= 400 && status < 500) || status === 408) {
		error.outcome = "unknown";
	}
	return error;
}

/** Returns the fencing token of a single exclusive holder. Readers share a token, and foreign holders have none. */
export function fenceOf({ holders, holderCount = holders.length, fencingToken }) {
	const [holder] = holders;
	return holderCount === 1 && !holder.foreign && holder.mode !== "READ" ? fencingToken : undefined;
}

export const api = {
	page: (id, { search, filter, sort, page }) => read(id, { search, sort, page, limit: PAGE,
		...(/^\d/.test(filter) ? { heldFor: filter } : { state: filter }) }),
	one: (id, key) => read(id, { key }),
	release: (id, seen) => change("DELETE", id, { key: seen.key, fencingToken: id === "locks" ? fenceOf(seen) : undefined }),
	setLimit: (key, limit) => change("POST", "semaphores", {}, { key, limit }),
	clearLimit: (key) => change("POST", "semaphores", {}, { key, clear: true }),
	pageSize: PAGE
};
