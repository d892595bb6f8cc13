// One line that is written over, or, where nobody looks (a log file), a line every ten per cent.

export type Progress = (done: number) => void;

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });

export function createProgress(
	total: number,
	start: number,
	out: Pick<NodeJS.WriteStream, "isTTY" | "write"> = process.stderr,
): Progress {
	const began = performance.now();
	let told = Math.floor((start / total) * 10);
	return (done) => {
		const share = total === 0 ? 1 : done / total;
		const perSecond = (done - start) / ((performance.now() - began) / 1_000);
		const left = perSecond > 0 ? `${Math.ceil((total - done) / perSecond)} s left` : "";
		const bar = "█".repeat(Math.round(share * 30)).padEnd(30, "░");
		const line = `${bar} ${whole.format(done)}/${whole.format(total)}  ${whole.format(perSecond)}/s  ${left}`;
		if (out.isTTY) out.write(`\r${line.padEnd(78)}${done === total ? "\n" : ""}`);
		else if (Math.floor(share * 10) > told) out.write(`${line}\n`);
		told = Math.floor(share * 10);
	};
}
