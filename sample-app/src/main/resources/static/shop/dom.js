// Small helpers for the page. Text gets into it by textContent only: keys are what users made them.

export function byId(id) {
	return document.getElementById(id);
}

/** Sets an attribute, or removes it if it has no value. Writes only what changed, for screen readers. */
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

export function show(node, shown) {
	if (node.hidden === Boolean(shown)) {
		node.hidden = !shown;
	}
}

export function count(number, one, many = one + "s") {
	return number === 1 ? "1 " + one : number.toLocaleString("en") + " " + many;
}

/** A time in words: 0.4 ms, 120 ms, 3.2 s, 4 min, 3 h, 2 d. */
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
