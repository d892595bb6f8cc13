// Shows one step at a time: the one of the address, else the first that is not done. What to see comes when it is done.
const links = [...document.querySelectorAll("ol a")];
const sections = [...document.querySelectorAll("section")];
const connection = document.getElementById("connection");
let done = [];

function show() {
	const asked = sections.findIndex(({ id }) => `#${id}` === location.hash);
	const first = sections.findIndex((_, index) => !done.includes(index));
	const current = asked >= 0 ? asked : Math.max(0, first);
	for (const [index, section] of sections.entries()) {
		section.hidden = index !== current;
		const see = section.querySelector(".see");
		const text = done.includes(index) ? `✓ ${see.dataset.see}` : "";
		if (see.textContent !== text) see.textContent = text;
		links[index].toggleAttribute("aria-current", index === current);
		if (index === current) links[index].setAttribute("aria-current", "step");
		links[index].dataset.done = done.includes(index);
	}
}

const events = new EventSource("steps");
events.onopen = () => {
	connection.textContent = "";
};
events.onmessage = ({ data }) => {
	// A step that is done stays until the next one is chosen, so that its end can be read.
	if (location.hash === "") history.replaceState(null, "", `#${sections.find(({ hidden }) => !hidden)?.id ?? ""}`);
	done = JSON.parse(data);
	show();
};
events.onerror = () => {
	connection.textContent = "The demo has ended: start it again in its terminal.";
};
document.addEventListener("click", async ({ target }) => {
	const { act } = target.dataset;
	if (act) await fetch(`do/${act}`, { method: "POST" }).catch(() => {});
});
addEventListener("hashchange", show);
show();
