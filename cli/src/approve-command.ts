import { spawn } from "node:child_process";
import type { CommonOptions, Context } from "./context.ts";

/** Opens the page on which a person decides the requests of keys. A command cannot decide: no API key can. */
export async function openApprovals(options: CommonOptions, context: Context): Promise<void> {
  const { id } = await context.connect("manage", options).wallet();
  const { baseUrl } = context.resolve("manage", options);
  const url = `${baseUrl.replace(/\/$/, "")}/console/w/${id}/budgets`;
  if (options.json) return context.print(JSON.stringify({ url }));
  context.print(url);
  if (!context.terminal.isInteractive) return;
  context.printInfo("Opening the console. Sign in to approve or deny requests.");
  openBrowser(url, context.env);
}

const programs: Partial<Record<NodeJS.Platform, string>> = { darwin: "open", win32: "explorer" };

/** Without a browser, the URL is still printed. */
function openBrowser(url: string, env: NodeJS.ProcessEnv): void {
  const program = env["BROWSER"] ?? programs[process.platform] ?? "xdg-open";
  const child = spawn(program, [url], { stdio: "ignore", detached: true });
  child.once("error", () => undefined);
  child.unref();
}
