import { Act } from "./act.tsx";
import { hrefOfContact } from "./address.ts";
import { Refusal } from "./call-line.tsx";
import { sandbox, view } from "./store.ts";

import { stepsDone, stories } from "./stories.ts";

/** The stories, each with an address of its own. */
export function Stories() {
	return (
		<ul class="stories">
			{Object.entries(stories).map(([id, { title, lead }]) => (
				<li key={id}>
					<a href={`#/stories/${id}`}>
						<b>{title}</b>
						<p>{lead}</p>
					</a>
				</li>
			))}
		</ul>
	);
}

/** Guides through the story of the contact that is shown, one button at a time. */
export function Guide() {
	const { id, phone } = view.story.value ?? {};
	const story = stories[id ?? ""];
	if (!story || !phone || phone !== view.contact.value) return null;
	const { title, steps, name, end, endHeld } = story;
	const done = stepsDone(story, phone);
	const step = steps[done];
	const fill = (text: string) => text.replaceAll("NAME", name);
	const label = `Story: ${title}`;
	const ids = Object.keys(stories);
	return (
		<section class="guide" aria-label={label}>
			<div class="row">
				<h3>{title}</h3>
				<span class="dim">{step ? `step ${done + 1} of ${steps.length}` : "the end"}</span>
				<span class="spring" />
				<a class="button quiet" href="#/stories">
					All stories
				</a>
				<a class="button quiet" href={hrefOfContact()} aria-label="Close the story">
					Close
				</a>
			</div>
			<p role="status">{fill(step?.say ?? ((sandbox.thread.value?.held && endHeld) || end))}</p>
			{step ? (
				<Act class="primary" call={step.call(phone)} form={label}>
					{fill(step.does)}
				</Act>
			) : (
				<a class="button" href={`#/stories/${ids[(ids.indexOf(id ?? "") + 1) % ids.length]}`}>
					Next story
				</a>
			)}
			<Refusal form={label} />
		</section>
	);
}
