export interface Bar {
	name: string;
	requests: number;
	median: number;
	p99: number;
}

const [width, height, left, bottom, top] = [640, 320, 60, 250, 50];

/** Requests a second beside the age of what the mirror shows, as an SVG that a README may include. */
export function chart(bars: readonly Bar[]): string {
	const most = Math.max(...bars.map(({ requests }) => requests));
	const oldest = Math.max(...bars.map(({ p99 }) => p99));
	const room = (width - left) / bars.length;
	const column = (x: number, share: number, colour: string, label: string): string => {
		const tall = Math.max(1, share * (bottom - top));
		return `<rect x="${x.toFixed(0)}" y="${(bottom - tall).toFixed(0)}" width="34" height="${tall.toFixed(0)}" fill="${colour}"/>
<text x="${(x + 17).toFixed(0)}" y="${(bottom - tall - 5).toFixed(0)}" text-anchor="middle">${label}</text>`;
	};
	const groups = bars.map(({ name, requests, median, p99 }, index) => {
		const x = left + index * room;
		return `${column(x, requests / most, "#2f6f9f", requests.toFixed(0))}
${column(x + 50, median / oldest, "#7fb069", `${median.toFixed(0)} s`)}
${column(x + 100, p99 / oldest, "#d1975a", `${p99.toFixed(0)} s`)}
<text x="${(x + 67).toFixed(0)}" y="${bottom + 20}" text-anchor="middle">${name}</text>`;
	});
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
<title>10,000 agencies: requests a second, and the age of messages when they are mirrored</title>
<rect width="${width}" height="${height}" fill="white"/>
<text x="${left}" y="22" font-size="14">10,000 agencies, 7 messages a second</text>
<line x1="${left - 10}" y1="${bottom}" x2="${width - 20}" y2="${bottom}" stroke="#444"/>
${groups.join("\n")}
<rect x="${left}" y="290" width="12" height="12" fill="#2f6f9f"/><text x="${left + 18}" y="300">requests a second</text>
<rect x="${left + 160}" y="290" width="12" height="12" fill="#7fb069"/><text x="${left + 178}" y="300">age, median</text>
<rect x="${left + 290}" y="290" width="12" height="12" fill="#d1975a"/><text x="${left + 308}" y="300">age, 99th percentile</text>
</svg>
`;
}
