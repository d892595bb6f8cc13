// Opens the demo in the user's browser, where there is one.
import { spawn } from "node:child_process";

/** Whether somebody sits in front of this terminal, with a browser beside it: not in CI, over SSH or in a container. */
export function hasBrowser(
	env: NodeJS.ProcessEnv = process.env,
	isTerminal = Boolean(process.stdout.isTTY),
	platform = process.platform,
): boolean {
	if (!isTerminal || env.CI || env.SSH_CONNECTION || env.SSH_TTY || env.BROWSER === "none") return false;
	return platform !== "linux" || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
}

export function openInBrowser(url: string): void {
	const [command = "", ...args] =
		process.platform === "darwin" ? ["open"] : process.platform === "win32" ? ["cmd", "/c", "start", ""] : ["xdg-open"];
	const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
	child.on("error", () => {}); // the printed address remains
	child.unref();
}
