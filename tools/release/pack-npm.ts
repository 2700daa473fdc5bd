import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { npmPackages, root } from "./products.ts";

/** Compiles the npm packages in a copy of the repository and packs each into a tarball. */
export function packNpm(tree: string, out: string): void {
  mkdirSync(out, { recursive: true });
  const folders = npmPackages(root).map(({ folder }) => folder);
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  for (const folder of folders) run(process.execPath, [compiler, "-p", `${folder}/tsconfig.build.json`], tree);
  run("npm", ["pack", "--silent", "--pack-destination", out, ...folders.map((folder) => `./${folder}`)], tree);
}

function run(program: string, args: string[], cwd: string): void {
  execFileSync(program, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
}
