import { type Json, nameOf, readSchema, type Schema } from "./schema.ts";

/** A difference between two contracts. */
export interface Change {
	/** The operation, or the schema and field. */
	readonly at: string;
	/** The difference in words. */
	readonly what: string;
	/** Whether a call that worked can fail because of it. */
	readonly canBreak: boolean;
}

/** The two contracts, and the pairs of schemas that were compared. */
export interface Documents {
	readonly ours: Json;
	readonly theirs: Json;
	readonly seen: Set<string>;
}

type Compare = (documents: Documents, at: string, ours: unknown, theirs: unknown) => Change[];

/** Compares what the service answers: what is missing or of another type breaks a call, what is new does not. */
export const compareAnswers: Compare = (documents, at, ours, theirs) => {
	if (theirs === undefined) return [{ at, what: "is not described any more", canBreak: true }];
	const [before, after] = [readSchema(documents.ours, ours), readSchema(documents.theirs, theirs)];
	const inside = compareInside("answer", documents, { at, ours, theirs }, (place) => [
		...fieldsOf(before, after).flatMap((field): Change[] => {
			const inner = `${place}.${field}`;
			const wasRequired = before.required.has(field);
			if (!before.fields.has(field)) return [{ at: inner, what: "is a new field", canBreak: false }];
			if (!after.fields.has(field)) return [{ at: inner, what: "is gone", canBreak: wasRequired }];
			const mayMiss = wasRequired && !after.required.has(field);
			return [
				...(mayMiss ? [{ at: inner, what: "may be missing now", canBreak: true }] : []),
				...compareAnswers(documents, inner, before.fields.get(field), after.fields.get(field)),
			];
		}),
		...(before.items === undefined ? [] : compareAnswers(documents, `${place}[]`, before.items, after.items)),
	]);
	return [...typeChanges(at, before, after), ...valueChanges(at, before, after), ...inside];
};

/** Compares what the service takes: what it asks for or refuses now breaks a call, what it takes besides does not. */
export const compareRequests: Compare = (documents, at, ours, theirs) => {
	const [before, after] = [readSchema(documents.ours, ours), readSchema(documents.theirs, theirs)];
	const refused = [...before.types].filter((type) => after.types.size > 0 && !takes(after.types, type));
	const isNarrower =
		after.values !== undefined && !(before.values ?? [undefined]).every((value) => after.values?.includes(value));
	const inside = compareInside("request", documents, { at, ours, theirs }, (place) => [
		...fieldsOf(before, after).flatMap((field): Change[] => {
			const inner = `${place}.${field}`;
			const isNeeded = after.required.has(field) && !before.required.has(field);
			if (!after.fields.has(field)) return [{ at: inner, what: "is gone", canBreak: true }];
			if (isNeeded) return [{ at: inner, what: "is required now", canBreak: true }];
			if (!before.fields.has(field)) return [{ at: inner, what: "is a new field", canBreak: false }];
			return compareRequests(documents, inner, before.fields.get(field), after.fields.get(field));
		}),
		...(before.items === undefined ? [] : compareRequests(documents, `${place}[]`, before.items, after.items)),
	]);
	return [
		...refused.map((type) => ({ at, what: `cannot be ${type} any more`, canBreak: true })),
		...(isNarrower ? [{ at, what: `must be one of ${after.values?.join(", ")} now`, canBreak: true }] : []),
		...limitChanges(at, before.limits, after.limits),
		...inside,
	];
};

interface Pair {
	readonly at: string;
	readonly ours: unknown;
	readonly theirs: unknown;
}

/** Compares the fields and items of each pair of schemas once, under the name of the schema if it has one. */
function compareInside(
	direction: string,
	{ seen }: Documents,
	{ at, ours, theirs }: Pair,
	compare: (place: string) => Change[],
): Change[] {
	const place = namedIn(ours) ?? at;
	const key = `${direction} ${place} ${namedIn(theirs) ?? JSON.stringify(theirs)}`;
	if (seen.has(key)) return [];
	seen.add(key);
	return compare(place);
}

/** Name of the schema that a field refers to, alone or as an alternative to null. */
function namedIn(schema: unknown): string | undefined {
	const { anyOf, oneOf }: Json = Object(schema);
	const alternatives = [anyOf ?? oneOf ?? []].flat();
	return [schema, ...alternatives].map(nameOf).find((name) => name !== undefined);
}

function fieldsOf(before: Schema, after: Schema): string[] {
	return [...new Set([...before.fields.keys(), ...after.fields.keys()])];
}

function typeChanges(at: string, before: Schema, after: Schema): Change[] {
	if (before.types.size === 0) return [];
	if (after.types.size === 0) return [{ at, what: "may be anything now", canBreak: true }];
	const added = [...after.types].filter((type) => !takes(before.types, type));
	const gone = [...before.types].filter((type) => !takes(after.types, type) && type === "null");
	return [
		...added.map((type) => ({ at, what: `may be ${type} now`, canBreak: true })),
		...gone.map((type) => ({ at, what: `is never ${type} any more`, canBreak: false })),
	];
}

function takes(types: ReadonlySet<string>, type: string): boolean {
	return types.has(type) || (type === "integer" && types.has("number"));
}

/** New values of a field. The types of this package are open, so that a value that they do not know breaks nothing. */
function valueChanges(at: string, before: Schema, after: Schema): Change[] {
	const added = (after.values ?? []).filter((value) => value !== null && before.values?.includes(value) === false);
	return added.length > 0 ? [{ at, what: `may be ${added.join(", ")} now`, canBreak: false }] : [];
}

function limitChanges(at: string, before: Json, after: Json): Change[] {
	return Object.entries(after).flatMap(([name, limit]): Change[] => {
		if (limit === before[name]) return [];
		const known = before[name];
		const isLooser =
			typeof limit === "number" &&
			typeof known === "number" &&
			(name.startsWith("min") ? limit < known : name.startsWith("max") && limit > known);
		return [{ at, what: `has ${name} ${limit} now`, canBreak: !isLooser }];
	});
}
