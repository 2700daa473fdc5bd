import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { clusterPrograms } from "../../support/patroni/patroni-cluster.ts";

const programs = { ...clusterPrograms, haproxy: "haproxy", "redis-server": "redis-server" };

/** The programs that a run needs and that are not installed, each with its Debian package. */
export function findMissingPrograms(path = process.env["PATH"] ?? ""): [program: string, debianPackage: string][] {
  const folders = [...path.split(delimiter), "/usr/sbin"];
  return Object.entries(programs).filter(([program]) => !folders.some((folder) => isExecutable(join(folder, program))));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
