// Rows that stay for some seconds after the end of their lock or semaphore, so that the page does not jump.

const LINGER = 4000;

export class Rows {

	#rows = new Map();

	#wanted = "";

	/**
	 * Returns the rows of the items in their order, and recently ended rows in their places. A row with the focus stays.
	 */
	with(items, list, wanted) {
		const now = Date.now();
		if (JSON.stringify(wanted) !== this.#wanted) {
			this.#rows.clear();
			this.#wanted = JSON.stringify(wanted);
		}
		items.forEach((item, index) => this.#rows.set(item.key, { item, index, seen: now, gone: false }));
		const focused = [...list.children].find((node) => node.contains(document.activeElement))?.itemKey;
		const shown = items.map((item) => this.#rows.get(item.key));
		for (const [key, row] of this.#rows) {
			if (row.seen !== now) {
				row.gone = true;
				if (now - row.seen > LINGER && key !== focused) {
					this.#rows.delete(key);
				}
				else {
					shown.splice(row.index, 0, row);
				}
			}
		}
		return shown;
	}

}
