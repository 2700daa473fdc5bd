import { once } from "node:events";
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setPriority } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isRunning } from "./is-running.ts";
import { startChild } from "./start-child.ts";

interface Site {
  name: string;
  /** The workspace that declares the program. */
  workspace: string;
  program: "vite" | "vitepress";
  sources: string[];
  /** The folder that the server serves. */
  output: string;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));

const sites: readonly Site[] = [
  {
    name: "console",
    workspace: "console",
    program: "vite",
    sources: ["console/src/**/*", "console/*.{html,json,ts}", "sdk/src/**/*.ts"],
    output: "console/dist",
  },
  {
    name: "docs",
    workspace: "docs",
    program: "vitepress",
    sources: ["docs/**/*.md", "docs/{public,images}/**/*", "docs/.vitepress/config.ts", "docs/.vitepress/theme/*"],
    output: "docs/.vitepress/dist",
  },
];

export interface BuildContext {
  environment: NodeJS.ProcessEnv;
  opened: AsyncDisposableStack;
  stopping: AbortSignal;
  print: (line: string) => void;
}

/** The names of the sites that are missing or older than their sources. */
export function findStaleSites(): string[] {
  return sites.filter(isStale).map(({ name }) => name);
}

/** Builds one site after the other at low priority. The API does not need them, so a failure is only printed. */
export async function buildStaleSites(context: BuildContext): Promise<void> {
  for (const site of sites.filter(isStale)) {
    if (context.stopping.aborted) return;
    const startedMs = performance.now();
    const fault = await build(site, context);
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
    if (context.stopping.aborted) return;
    context.print(
      fault === undefined ? `Built the ${site.name} in ${seconds} s.` : `Building the ${site.name}: ${fault}`,
    );
  }
}

function isStale({ sources, output }: Site): boolean {
  const builtMs = statSync(join(root, output, "index.html"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const files = globSync(sources, { cwd: root, exclude: ["docs/.vitepress/{cache,dist}/**", "docs/node_modules/**"] });
  return files.some((file) => statSync(join(root, file)).mtimeMs > builtMs);
}

/** Builds in a separate folder and renames it, so that the server never reads a partial build. */
async function build(site: Site, context: BuildContext): Promise<string | undefined> {
  const stage = join(root, ".pennyblack", `build-${site.name}`);
  if (!claim(stage)) return "another dev server is building it.";
  try {
    const lines: string[] = [];
    const child = startChild({
      name: `build of the ${site.name}`,
      script: locateProgram(site),
      args: ["build", join(root, site.workspace), "--outDir", join(stage, "output")],
      environment: context.environment,
      onLine: (line) => lines.push(line),
    });
    context.opened.defer(child.stop);
    if (child.process.pid !== undefined) setPriority(child.process.pid, 10);
    await once(child.process, "close");
    if (child.process.exitCode !== 0) return lines.slice(-20).join("\n");
    rmSync(join(root, site.output), { recursive: true, force: true });
    renameSync(join(stage, "output"), join(root, site.output));
    return undefined;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Returns false if another process that is still running has claimed the folder. */
function claim(stage: string): boolean {
  mkdirSync(dirname(stage), { recursive: true, mode: 0o700 });
  const owner = join(stage, "pid");
  for (let attempt = 0; attempt < 2; attempt += 1) {
    try {
      mkdirSync(stage);
      writeFileSync(owner, String(process.pid));
      return true;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      // Without the file, the other process is just claiming the folder.
      if (!existsSync(owner) || isRunning(Number(readFileSync(owner, "utf8")))) return false;
      rmSync(stage, { recursive: true, force: true });
    }
  }
  return false;
}

function locateProgram({ workspace, program }: Site): string {
  const require = createRequire(join(root, workspace, "package.json"));
  return join(dirname(require.resolve(`${program}/package.json`)), "bin", `${program}.js`);
}
