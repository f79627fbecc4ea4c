// What is searched for, how much of it there is, and on which page.
import { api, now } from "./api.js";
import { byId, count, duration, enable, isEnabled, show, text } from "./dom.js";

const TYPING = 250;

/** For how long it is told that a key is not there. */
const MISSING = 10_000;

/** Until then a count is taken for one of now. */
const FRESH = 5000;

/** How long ago something was counted, or "" if that is not worth telling. */
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

	/** Whether what is found is to be told, as it was asked for and does not just change. */
	#asked = false;

	/** The key that was looked for and is not there, and when that was. */
	#missing = { key: "", at: 0 };

	/**
	 * @param changed called when something else is wanted
	 * @param open called to see one in detail
	 */
	constructor(id, one, changed, open) {
		this.#id = id;
		this.#one = one;
		const tools = byId(id + "-tools");
		const again = () => {
			clearTimeout(this.#timer);
			this.#page = 1;
			this.#ask(changed);
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
				this.#ask(changed);
			}
		});
		turn(this.#button("previous"), -1);
		turn(this.#button("next"), 1);
	}

	get wanted() {
		const { search, filter, sort } = byId(this.#id + "-tools").elements;
		return { search: search.value.trim(), filter: filter.value, sort: sort.value, page: this.#page };
	}

	/** Keeps in an address what is wanted, but for what is so at first. */
	keepIn(address) {
		const first = { search: "", filter: "", sort: "key", page: 1 };
		Object.entries(this.wanted).filter(([name, value]) => value !== first[name])
			.forEach(([name, value]) => address.set(this.#id + "-" + name, value));
	}

	/** What an address says that makes no sense is as it is at first. */
	restore(address) {
		const { search, filter, sort } = byId(this.#id + "-tools").elements;
		const kept = (name) => address.get(this.#id + "-" + name) ?? "";
		search.value = kept("search");
		for (const [select, name] of [[filter, "filter"], [sort, "sort"]]) {
			select.selectedIndex = Math.max(0, [...select.options].findIndex((option) => option.value === kept(name)));
		}
		this.#page = /^[1-9]\d{0,5}$/.test(kept("page")) ? Number(kept("page")) : 1;
	}

	/** Whether an answer to a question is still what is wanted. */
	isFor(wanted) {
		return JSON.stringify(wanted) === JSON.stringify(this.wanted);
	}

	/** Shows how much was found. Returns whether there is another page to ask for. */
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
		if (this.#asked) {
			this.#asked = false;
			text(byId(this.#id + "-told"), byId(this.#id + "-found").textContent);
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

	/** Looks for exactly one key, in the store: it may have come since they were counted. */
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
			this.#ask(changed);
		}
	}

	#ask(changed) {
		this.#asked = true;
		text(byId(this.#id + "-told"), "");
		changed();
	}

	#button(which) {
		return byId(this.#id + "-pages").querySelector("." + which);
	}

}
