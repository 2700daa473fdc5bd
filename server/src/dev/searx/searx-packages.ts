import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

// searx, gunicorn to serve it, mandoc to render manual pages, and the documentation to search.
const packages = readFileSync(new URL("./packages.txt", import.meta.url), "utf8")
  .split(/\s+/)
  .filter(Boolean);

// Container images often configure dpkg to leave out /usr/share/doc and /usr/share/man.
const samples = ["/usr/share/doc/postgresql-doc-15/html/index.html", "/usr/share/man/man2/open.2.gz"];

const listPackages = "dpkg-query";
const format = "${Package} ${db:Status-Status}\\n";

/** Returns the reason searx cannot run on this machine, with a next step, or undefined. */
export function findObstacle(): string | undefined {
  const query = spawnSync(listPackages, ["--show", `--showformat=${format}`, ...packages], { encoding: "utf8" });
  if (query.error) return "searx is installed from Debian packages, and this is not Debian.";
  const installed = new Set(query.stdout.split("\n"));
  const missing = packages.filter((name) => !installed.has(`${name} installed`));
  if (missing.length > 0) {
    return `Debian 12 packages are missing. Run: apt-get install --no-install-recommends ${missing.join(" ")}`;
  }
  const absent = samples.find((path) => !existsSync(path));
  if (absent === undefined) return undefined;
  return `The packages were installed without their documentation (${absent} is missing). See .ci/run for how to restore it.`;
}
