// Search of locks or semaphores: terms, numbers and pages.
import { api, now } from "./api.js";
import { byId, count, duration, enable, isEnabled, show, text } from "./dom.js";

const TYPING = 250;

/** Time for which the absence of a key is shown, in milliseconds. */
const MISSING = 10_000;

/** Maximum age of a count that is shown without its age, in milliseconds. */
const FRESH = 5000;

/** Returns the age of a count as text, or "" for a recent count. */
export function age(counted) {
	const millis = now() - new Date(counted);
	return millis > FRESH ? duration(Math.floor(millis / 1000) * 1000) + " ago" : "";
}

export class Query {

	#id;

	#one;

	#page = 1;

	#timer = 0;

	#pages = 1;

	/** Whether screen readers are to read the result, because it answers a request of the user. */
	#requested = false;

	/** Absent key of the last search for one key, and the time of its answer. */
	#missing = { key: "", at: 0 };

	/**
	 * @param changed called after a change of the search
	 * @param open called to show details
	 */
	constructor(id, one, changed, open) {
		this.#id = id;
		this.#one = one;
		const tools = byId(id + "-tools");
		const again = () => {
			clearTimeout(this.#timer);
			this.#page = 1;
			this.#request(changed);
		};
		tools.addEventListener("submit", (event) => {
			event.preventDefault();
			again();
			this.#find(this.wanted.search, open, changed);
		});
		tools.addEventListener("change", again);
		tools.addEventListener("input", (event) => {
			if (event.target.type === "search") {
				clearTimeout(this.#timer);
				this.#timer = setTimeout(again, TYPING);
			}
		});
		const turn = (button, by) => button.addEventListener("click", () => {
			if (isEnabled(button)) {
				this.#page += by;
				this.#request(changed);
			}
		});
		turn(this.#button("previous"), -1);
		turn(this.#button("next"), 1);
	}

	get wanted() {
		const { search, filter, sort } = byId(this.#id + "-tools").elements;
		return { search: search.value.trim(), filter: filter.value, sort: sort.value, page: this.#page };
	}

	/** Keeps the search in an address, without default values. */
	keepIn(address) {
		const first = { search: "", filter: "", sort: "key", page: 1 };
		Object.entries(this.wanted).filter(([name, value]) => value !== first[name])
			.forEach(([name, value]) => address.set(this.#id + "-" + name, value));
	}

	/** Restores the search from an address, with defaults for invalid values. */
	restore(address) {
		const { search, filter, sort } = byId(this.#id + "-tools").elements;
		const kept = (name) => address.get(this.#id + "-" + name) ?? "";
		search.value = kept("search");
		for (const [select, name] of [[filter, "filter"], [sort, "sort"]]) {
			select.selectedIndex = Math.max(0, [...select.options].findIndex((option) => option.value === kept(name)));
		}
		this.#page = /^[1-9]\d{0,5}$/.test(kept("page")) ? Number(kept("page")) : 1;
	}

	/** Returns whether an answer is for the current search. */
	isFor(wanted) {
		return JSON.stringify(wanted) === JSON.stringify(this.wanted);
	}

	/** Shows the number of results. Returns whether another page has to be requested. */
	show(found, shown) {
		const { matching, total, complete } = found;
		const old = complete ? age(found.counted) : "";
		const { search, filter } = this.wanted;
		this.#pages = Math.max(1, Math.ceil(matching / api.pageSize));
		if (complete && this.#page > this.#pages) {
			this.#page = this.#pages;
			return true;
		}
		const missing = search && this.#missing.key === search && now() - this.#missing.at < MISSING;
		text(byId(this.#id + "-found"), total === 0 ? "" : (search || filter ? matching.toLocaleString("en") + " of " : "")
			+ (complete ? "" : "at least ") + count(total, this.#one)
			+ (complete ? old && " · counted " + old : " · still counting")
			+ (missing ? " · none has exactly this key now" : ""));
		if (this.#requested) {
			this.#requested = false;
			text(byId(this.#id + "-status"), byId(this.#id + "-found").textContent);
		}
		show(byId(this.#id + "-state"), shown === 0);
		text(byId(this.#id + "-state"), total === 0 ? "No " + this.#one + " is held or waited for."
			: "No " + this.#one + (!complete ? " matches so far" : old ? " matched when they were counted, " + old : " matches") + (search ? ". Enter looks for exactly this key now." : "."));
		show(byId(this.#id + "-pages"), this.#pages > 1);
		text(byId(this.#id + "-pages").querySelector(".page"), "Page " + this.#page.toLocaleString("en") + " of "
			+ this.#pages.toLocaleString("en"));
		enable(this.#button("previous"), this.#page > 1);
		enable(this.#button("next"), this.#page < this.#pages);
		return false;
	}

	/** Searches the store for exactly one key, which may be newer than the last count. */
	async #find(key, open, changed) {
		const answer = key ? await api.one(this.#id, key).catch(() => null) : null;
		if (!answer || this.wanted.search !== key || document.querySelector("dialog[open]")) {
			return;
		}
		if (answer.fleet[this.#id]?.length) {
			open(this.#id, key);
		}
		else if (!answer.fleet.problem) {
			this.#missing = { key, at: now() };
			this.#request(changed);
		}
	}

	#request(changed) {
		this.#requested = true;
		text(byId(this.#id + "-status"), "");
		changed();
	}

	#button(which) {
		return byId(this.#id + "-pages").querySelector("." + which);
	}

}
