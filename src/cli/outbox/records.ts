/*
 * What is known of contacts, as a file with one record on each line.
 */
import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { isPartnerError, PartnerInvalidInput } from "messaging-conversations";
import type { ContactRecord } from "../../outbox/contact-records.ts";

const codeOf = (error: unknown): unknown => Reflect.get(Object(error), "code");

/** A file of export or import cannot be used, whatever the database does. */
export class FileError extends Error {}

/** A new file that only its user can read. */
async function create(file: string): Promise<FileHandle> {
	try {
		return await open(file, "wx", 0o600);
	} catch (error) {
		if (codeOf(error) === "EEXIST") throw new FileError("The file of --out exists. Name another one, or delete it.");
		throw new FileError(`The file of --out cannot be written (${codeOf(error) ?? "no reason"}).`);
	}
}

/** Writes the records into a new file, and returns the number of contacts. */
export async function writeRecords(file: string, records: AsyncIterable<ContactRecord>): Promise<number> {
	const out = await create(file);
	let contacts = 0;
	try {
		for await (const record of records) {
			if (record.kind === "end") contacts = record.contacts;
			await out.write(`${JSON.stringify(record)}\n`);
		}
		await out.sync();
	} finally {
		await out.close();
	}
	return contacts;
}

const refuseLine = (line: number, field: string, rule: string): PartnerInvalidInput =>
	new PartnerInvalidInput({
		field: field === "" ? `line ${line}` : `line ${line}, ${field}`,
		rule,
		operation: "importContacts",
	});

/** The records of a file. */
export async function* readRecords(file: string): AsyncGenerator<ContactRecord, void, undefined> {
	const input = createReadStream(file, "utf8");
	let line = 0;
	try {
		for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
			line++;
			yield parsed(text, line);
		}
	} catch (error) {
		if (isPartnerError(error)) throw error;
		throw new FileError(`The file cannot be read (${codeOf(error) ?? "no reason"}).`);
	} finally {
		input.destroy();
	}
}

function parsed(text: string, line: number): ContactRecord {
	try {
		return JSON.parse(text);
	} catch {
		// Its own error would quote the line.
		throw refuseLine(line, "", "must be one record of an export, as JSON");
	}
}

/** An error of the import, which names the line. */
export function inLines(error: unknown): unknown {
	if (!isPartnerError(error) || error._tag !== "PartnerInvalidInput") return error;
	const [, at, field = ""] = /^records\[(\d+)\]\.?(.*)$/.exec(String(error.field)) ?? [];
	return at === undefined ? error : refuseLine(Number(at) + 1, field, error.rule);
}
