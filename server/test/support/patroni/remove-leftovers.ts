import { execFileSync } from "node:child_process";
import { globSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sendSignal } from "../services/send-signal.ts";
import { unmountDisk } from "./mount-disk.ts";
import { removeNetwork } from "./node-network.ts";

// A run that was killed cannot clean up. Its folder and its network have the id of its process, and the next run removes
// those of processes that no longer exist.

/** For mkdtemp. */
export function leftoverPrefix(name: string): string {
  return join(tmpdir(), `pennyblack-${name}-${process.pid}-`);
}

export function removeLeftovers(name: string): void {
  const links = JSON.parse(execFileSync("ip", ["-json", "link", "show", "type", "bridge"], { encoding: "utf8" })) as {
    ifname: string;
    ifalias?: string;
  }[];
  for (const { ifname, ifalias } of links) if (isOfDeadProcess(ifalias)) removeNetwork(ifname);
  for (const folder of globSync(join(tmpdir(), `pennyblack-${name}-*-*`))) {
    if (!isOfDeadProcess(/-(\d+)-[^-]*$/.exec(folder)?.[1])) continue;
    for (const disk of disksIn(folder)) unmountDisk(disk);
    rmSync(folder, { recursive: true, force: true });
  }
}

function isOfDeadProcess(pid: string | undefined): boolean {
  return pid !== undefined && !sendSignal(Number(pid), 0);
}

function disksIn(folder: string): string[] {
  const points = readFileSync("/proc/mounts", "utf8").split("\n");
  return points.map((line) => line.split(" ")[1] ?? "").filter((point) => point.startsWith(`${folder}/`));
}
