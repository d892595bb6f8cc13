/*
 * Sentences of the sandbox that quote personal content: a name, a text, a field of a request. The quotes are marked,
 * so that a bug file can put others in their place. The marks are removed before a sentence is shown.
 */

const [begin, end] = ["\ue000", "\ue001"];

/** Marks a part of a sentence as personal content. */
export const own = (text: string): string => `${begin}${withoutMarks(text)}${end}`;

/** A sentence as it is shown. */
export const withoutMarks = (sentence: string): string =>
	sentence.includes(begin) || sentence.includes(end) ? sentence.replace(/[\ue000\ue001]/g, "") : sentence;

/** Puts others in the place of personal content. The marks stay. */
export const replaceOwn = (sentence: string, replace: (text: string) => string): string =>
	sentence.replace(/\ue000([^\ue000\ue001]*)\ue001/g, (_, text: string) => own(replace(text)));
