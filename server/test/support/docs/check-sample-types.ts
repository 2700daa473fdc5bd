import { execFileSync, spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { linkVendorClients } from "../clients/vendor-clients.ts";
import { pack } from "./packed-packages.ts";
import { parseCodeBlocks } from "./read-code-blocks.ts";

export interface TypeSample {
  /** The file that contains the sample. */
  source: string;
  /** The line above the first line of the sample. */
  line: number;
  text: string;
}

const root = resolve(import.meta.dirname, "../../../..");
const pages = ["README.md", "docs/**/*.md", "{sdk,cli,mcp,ai-sdk,examples}/README.md"];

/** Every TypeScript sample that a reader would copy. */
export function readTypeSamples(): TypeSample[] {
  const blocks = globSync(pages, { cwd: root, exclude: ["docs/decisions/**", "docs/.vitepress/**"] }).flatMap(
    (source) =>
      parseCodeBlocks(readFileSync(join(root, source), "utf8"))
        // Those that are part of an example are compiled with it.
        .filter(({ language, mark }) => isTypeScript(source, language) && mark?.kind !== "part of")
        .map(({ line, text }) => ({ source, line, text })),
  );
  const examples = globSync("examples/*.ts", { cwd: root, exclude: ["**/*.test.ts"] });
  return [
    ...blocks,
    ...examples.map((source) => ({ source, line: 0, text: readFileSync(join(root, source), "utf8") })),
  ].toSorted((a, b) => a.source.localeCompare(b.source) || a.line - b.line);
}

function isTypeScript(source: string, language: string): boolean {
  if (/^(?:js|javascript|typescript|mjs|tsx)$/.test(language))
    throw new Error(`${source}: use \`\`\`ts, not ${language}`);
  return language === "ts";
}

/**
 * Compiles samples with `tsc --strict` in an empty project, in which only our packed libraries, the vendors' clients and the
 * given packages are installed. Returns the errors with the place of the sample.
 */
export function findTypeErrors(samples: readonly TypeSample[], packages: readonly string[] = []): string[] {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-samples-"));
  try {
    installLibraries(folder, packages);
    const files = samples.map(({ text }, index) => {
      writeFileSync(join(folder, `sample-${index}.ts`), text);
      return `sample-${index}.ts`;
    });
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--types", "node"];
    const args = [tsc, ...options, "--skipLibCheck", "--pretty", "false", ...files];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
    const errors = stdout.split("\n").flatMap((line) => locate(line, samples));
    if ((status === 0) !== (errors.length === 0)) throw new Error(`tsc failed:\n${stdout}${stderr}`);
    return errors;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A line of output has the number of the sample, then row and column, such as `(12,5): error TS2339: ...`. */
function locate(line: string, samples: readonly TypeSample[]): string[] {
  const [, index, row, message] = /^sample-(\d+)\.ts\((\d+),\d+\): error (.*)$/.exec(line) ?? [];
  const sample = samples[Number(index)];
  return sample === undefined ? [] : [`${sample.source}:${sample.line + Number(row)} ${message}`];
}

function installLibraries(folder: string, packages: readonly string[]): void {
  const files = globSync(join(pack(), "pennyblack-{sdk,ai-sdk}-*.tgz"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  // Peer dependencies are among the given packages; npm would look for them in the registry.
  const offline = ["--offline", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
  const install = ["install", ...offline, ...files];
  execFileSync("npm", install, { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
  for (const name of ["@types/node", ...packages]) {
    mkdirSync(dirname(join(folder, "node_modules", name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
  }
  linkVendorClients(folder);
}
