import { execFileSync } from "node:child_process";
import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Account, findPrograms } from "../../../src/dev/postgres-programs.ts";

export interface Cluster {
  /** Folder of the PostgreSQL programs. */
  programs: string;
  data: string;
}

/**
 * An empty cluster without authentication, in a folder that the account can write to. Settings that make commits durable
 * keep their defaults; only initdb itself skips the fsync.
 */
export function makeCluster(folder: string, account: Account | undefined, packaged?: string): Cluster {
  const programs = findClusterPrograms(folder, account, packaged);
  const data = join(folder, "data");
  const options = [`--pgdata=${data}`, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale"];
  execFileSync(join(programs, "initdb"), [...options, "--no-sync"], {
    ...account,
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return { programs, data };
}

/** `packaged`: the folder "native" of an npm package, instead of Debian's programs. */
export function findClusterPrograms(folder: string, account: Account | undefined, packaged?: string): string {
  if (packaged !== undefined) return join(findPrograms(folder, account, packaged), "bin");
  return debianPrograms() ?? join(findPrograms(folder, account), "bin");
}

/** The newest Debian version, if one is installed. Otherwise the npm package is used. */
function debianPrograms(): string | undefined {
  const found = globSync("/usr/lib/postgresql/*/bin/initdb");
  const version = (path: string): number => Number(path.split("/")[4]);
  const newest = found.toSorted((a, b) => version(a) - version(b)).at(-1);
  return newest === undefined ? undefined : dirname(newest);
}
