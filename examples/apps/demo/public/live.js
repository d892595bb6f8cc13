// Keeps the page as the server has it: after each change, and when somebody comes back to it or to its text box. Elements
// that are the same stay, so that a screen reader reads out what is new and nothing else.
const connection = document.getElementById("connection");
const log = document.getElementById("messages");
let isRefreshing = false;
let isStale = false;

async function refresh() {
	isStale = true;
	if (isRefreshing) return;
	isRefreshing = true;
	while (isStale) {
		isStale = false;
		const response = await fetch(location.href).catch(() => undefined);
		if (!response?.ok) continue;
		const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
		const isAtEnd = log && log.scrollHeight - log.scrollTop - log.clientHeight < 40;
		for (const list of fresh.querySelectorAll("[data-live]")) adopt(document.getElementById(list.id), list);
		if (isAtEnd) log.scrollTop = log.scrollHeight;
	}
	isRefreshing = false;
}

function adopt(list, fresh) {
	for (const old of [...list.children]) if (!fresh.querySelector(`#${CSS.escape(old.id)}`)) old.remove();
	for (const [index, item] of [...fresh.children].entries()) {
		const old = document.getElementById(item.id);
		if (!old?.isEqualNode(item)) old?.remove();
		const same = document.getElementById(item.id) ?? item;
		if (list.children[index] !== same) list.insertBefore(same, list.children[index] ?? null);
	}
}

const events = new EventSource("/events");
events.onopen = () => {
	connection.value = "● live";
	refresh();
};
events.onmessage = refresh;
events.onerror = () => {
	connection.value = "not connected: this is what was known last";
};
addEventListener("focus", refresh);
document.querySelector("textarea")?.addEventListener("focus", refresh);
if (log) log.scrollTop = log.scrollHeight;
