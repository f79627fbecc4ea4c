// Helpers for the page. Text is set by textContent only, because keys may contain any characters.
import { now } from "./api.js";

const LONG = 120;

export function byId(id) {
	return document.getElementById(id);
}

export function element(tag, attributes = {}, ...children) {
	const node = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		attribute(node, name, value);
	}
	node.append(...children);
	return node;
}

/** Sets an attribute, or removes it without a value. Writes only changes, for screen readers. */
export function attribute(node, name, value) {
	if (value === null || value === undefined || value === false) {
		node.removeAttribute(name);
	}
	else if (node.getAttribute(name) !== String(value)) {
		node.setAttribute(name, String(value));
	}
}

export function text(node, value) {
	const string = String(value);
	if (node.textContent !== string) {
		node.textContent = string;
	}
}

export function fill(node, ...parts) {
	node.replaceChildren(...parts);
}

/** Returns a key with visible characters only, without changes of the text direction. */
export function visible(key) {
	return key.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu, (each) => "‹U+"
		+ each.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "›");
}

/** Returns a key for a sentence, without the middle of a long key. */
export function quoted(key) {
	const whole = visible(key);
	return element("bdi", {}, "‘" + (whole.length <= LONG ? whole : whole.slice(0, 80) + " … " + whole.slice(-37)) + "’");
}

export function show(node, shown) {
	if (node.hidden === Boolean(shown)) {
		node.hidden = !shown;
	}
}

/**
 * Updates the children of a list to the items, in their order. Nodes of remaining items keep their focus and input.
 */
export function reconcile(list, items, keyOf, create, update) {
	const keys = new Set(items.map(keyOf));
	const old = new Map();
	// First, because a moved node loses the focus.
	for (const child of [...list.children]) {
		if (keys.has(child.itemKey)) {
			old.set(child.itemKey, child);
		}
		else {
			remove(list, child);
		}
	}
	const focused = document.activeElement;
	let place = list.firstElementChild;
	for (const item of items) {
		const key = keyOf(item);
		let node = old.get(key);
		if (!node) {
			node = create(item);
			node.itemKey = key;
		}
		update(node, item);
		if (node === place) {
			place = place.nextElementSibling;
		}
		else {
			list.insertBefore(node, place);
		}
	}
	if (document.activeElement !== focused && list.contains(focused)) {
		// The row of the focus was moved.
		focused.focus({ preventScroll: true });
	}
}

/** Removes a node. The focus moves to a neighbour, not to the start of the page. */
function remove(list, node) {
	const focused = node.contains(document.activeElement);
	const next = node.nextElementSibling ?? node.previousElementSibling;
	node.remove();
	if (focused) {
		list.tabIndex = -1;
		(next?.querySelector("button") ?? list).focus({ preventScroll: true });
	}
}

/** Enables a button. Not by the attribute disabled, with which a pressed button would lose the focus. */
export function enable(button, enabled) {
	attribute(button, "aria-disabled", enabled ? null : "true");
}

export function isEnabled(button) {
	return button.getAttribute("aria-disabled") !== "true";
}

/** Returns the number of waiters besides the shown queue, as text. */
export function waiting({ queueLength, waiters }) {
	return waiters > queueLength ? waiters - queueLength + (queueLength > 0 ? " more" : "") + " inside of instances"
		: queueLength > 0 ? "" : waiters === 0 ? "no waiters" : "empty";
}

export function count(number, one, many = one + "s") {
	return number === 1 ? "1 " + one : number.toLocaleString("en") + " " + many;
}

/** Returns a duration as text: 0.4 ms, 120 ms, 3.2 s, 4 min, 3 h, 2 d. */
export function duration(millis) {
	if (millis < 1000) {
		return (millis < 10 && millis % 1 ? millis.toFixed(1) : Math.round(millis)) + " ms";
	}
	const seconds = millis / 1000;
	if (seconds < 60) {
		return (seconds < 10 ? seconds.toFixed(1) : Math.floor(seconds)) + " s";
	}
	if (seconds < 3600) {
		return Math.floor(seconds / 60) + " min";
	}
	return seconds < 86400 ? Math.floor(seconds / 3600) + " h" : Math.floor(seconds / 86400) + " d";
}

/** Returns the time since an instant as text, at least zero although clocks differ. */
export function ago(instant) {
	const seconds = Math.floor((now() - new Date(instant)) / 1000);
	return seconds < 1 ? "less than 1 s" : duration(seconds * 1000);
}

/** Returns a time as in logs: UTC, without the day if it is today. */
export function utc(instant) {
	const [day, time] = new Date(instant).toISOString().slice(0, 19).split("T");
	return (new Date(now()).toISOString().startsWith(day) ? "" : day + " ") + time;
}

export function timeOfDay(millis) {
	return new Date(millis).toLocaleTimeString("en-GB");
}
