import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";

/** The environment of a process whose clock has this offset; undefined if libfaketime cannot be installed. */
export function fakedClock(offset: string): Record<string, string> | undefined {
  const library = findLibrary() ?? installLibrary();
  if (library === undefined) return undefined;
  // The monotonic clock, which measures durations, is correct even on a machine with a wrong date.
  return { LD_PRELOAD: library, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: "1" };
}

function findLibrary(): string | undefined {
  return globSync("/usr/lib/*/faketime/libfaketime.so.1")[0];
}

function installLibrary(): string | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const environment = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  for (const args of [["update"], ["install", "-y", "--no-install-recommends", "libfaketime"]])
    spawnSync("apt-get", args, { env: environment, stdio: "ignore", timeout: 60_000 });
  return findLibrary();
}
