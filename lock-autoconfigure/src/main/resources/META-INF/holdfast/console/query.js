// What is searched for, how much of it there is, and on which page.
import { api, now } from "./api.js";
import { byId, count, duration, enable, isEnabled, show, text } from "./dom.js";

const TYPING = 250;

export class Query {

	#id;

	#one;

	#page = 1;

	#timer = 0;

	#pages = 1;

	/** Whether what is found is to be told, as it was asked for and does not just change. */
	#asked = false;

	/** @param changed called when something else is wanted */
	constructor(id, one, changed) {
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

	/** Whether an answer to a question is still what is wanted. */
	isFor(wanted) {
		return JSON.stringify(wanted) === JSON.stringify(this.wanted);
	}

	/** Shows how much was found. Returns whether there is another page to ask for. */
	show(found, shown) {
		const { matching, total, complete, counted } = found;
		const { search, filter } = this.wanted;
		this.#pages = Math.max(1, Math.ceil(matching / api.pageSize));
		if (this.#page > this.#pages) {
			this.#page = this.#pages;
			return true;
		}
		const age = now() - new Date(counted);
		text(byId(this.#id + "-found"), total === 0 ? "" : (search || filter ? matching.toLocaleString("en") + " of " : "")
			+ (complete ? "" : "at least ") + count(total, this.#one)
			+ (complete ? age > 5000 ? " · counted " + duration(Math.floor(age / 1000) * 1000) + " ago" : "" : " · still counting"));
		if (this.#asked) {
			this.#asked = false;
			text(byId(this.#id + "-told"), byId(this.#id + "-found").textContent);
		}
		show(byId(this.#id + "-state"), shown === 0);
		text(byId(this.#id + "-state"), total === 0 ? "No " + this.#one + " is held or waited for."
			: "No " + this.#one + " matches.");
		show(byId(this.#id + "-pages"), this.#pages > 1);
		text(byId(this.#id + "-pages").querySelector(".page"), "Page " + this.#page.toLocaleString("en") + " of "
			+ this.#pages.toLocaleString("en"));
		enable(this.#button("previous"), this.#page > 1);
		enable(this.#button("next"), this.#page < this.#pages);
		return false;
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
