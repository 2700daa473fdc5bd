import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

// searx itself, gunicorn to serve it, mandoc to read manual pages, and the documentation that is searched.
const packages = readFileSync(new URL("./packages.txt", import.meta.url), "utf8")
  .split(/\s+/)
  .filter(Boolean);

// Container images often tell dpkg to leave out /usr/share/doc and /usr/share/man: installed, but nothing to read.
const samples = ["/usr/share/doc/postgresql-doc-15/html/index.html", "/usr/share/man/man2/open.2.gz"];

const listPackages = "dpkg-query";
const format = "${Package} ${db:Status-Status}\\n";

/** Why searx cannot run here and what to do about it, or nothing if it can. */
export function findObstacle(): string | undefined {
  const query = spawnSync(listPackages, ["--show", `--showformat=${format}`, ...packages], { encoding: "utf8" });
  if (query.error) return "searx is taken from Debian's packages, and this is not Debian.";
  const installed = new Set(query.stdout.split("\n"));
  const missing = packages.filter((name) => !installed.has(`${name} installed`));
  if (missing.length > 0) {
    return `Packages of Debian 12 are missing: apt-get install --no-install-recommends ${missing.join(" ")}`;
  }
  const gone = samples.find((path) => !existsSync(path));
  if (gone === undefined) return undefined;
  return `The documentation was left out when its packages were installed (${gone}). .ci/run knows how to put it back.`;
}
