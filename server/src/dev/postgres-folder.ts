import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chownSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Account } from "./postgres-programs.ts";
import { StartupError } from "./startup-error.ts";

/**
 * The folder in which PostgreSQL keeps its data between starts. If PostgreSQL runs under another account that cannot
 * reach it, as in a checkout in root's home, the folder is in /var/tmp.
 */
export function openPostgresFolder(
  wanted: string,
  { account, reset }: { account: Account | undefined; reset: boolean },
): string {
  const isReachable = !account || spawnSync("test", ["-x", dirname(wanted)], account).status === 0;
  const name = `pennyblack-dev-${createHash("sha256").update(wanted).digest("hex").slice(0, 12)}`;
  const folder = isReachable ? wanted : join("/var/tmp", name);
  if (reset) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) {
    if (account) chownSync(folder, account.uid, account.gid);
  } else {
    // Any user can create folders in /var/tmp.
    const found = lstatSync(folder);
    if (!found.isDirectory() || found.uid !== (account?.uid ?? process.getuid?.() ?? found.uid))
      throw new StartupError(`${folder} belongs to another account. Remove it and start again.`);
  }
  return folder;
}
