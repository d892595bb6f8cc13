// A CRM's contacts, as messy as they are. In place of your own table.
import type { Client } from "@libsql/client";

/** Two hundred and fifty of them are known to the sandbox's "busy" scenario; every hundredth is no phone number. */
export async function seedContacts(db: Client, count: number): Promise<void> {
	const { rows } = await db.execute("select count(*) as n from contact");
	if (Number(rows[0]?.n) >= count) return;
	const contacts = Array.from({ length: count }, (_, i) => ({ id: i + 1, phone: phoneOf(i) }));
	const insert = "insert or ignore into contact select value ->> 'id', value ->> 'phone' from json_each(?)";
	await db.execute({ sql: insert, args: [JSON.stringify(contacts)] });
}

function phoneOf(i: number): string {
	if (i % 100 === 99) return "see notes";
	if (i % 200 === 0) return `+44 7700 ${900_101 + i / 200}`;
	const digits = String(i).padStart(6, "0");
	return i % 2 === 0 ? `0470 ${digits}` : `+32 (0)471/${digits.slice(0, 2)}.${digits.slice(2)}`;
}
