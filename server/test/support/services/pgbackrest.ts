import { execFile } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { type Account, findAccount } from "../../../src/dev/postgres-programs.ts";

// The configuration of deploy/pgbackrest, with the folders of a test.

export const stanza = "pennyblack";

export interface PgBackRest {
  /** The configuration file. */
  config: string;
  /** For a cluster that archives into the repository and that pgBackRest can connect to. */
  settings: string[];
  /** Writes the configuration and creates the stanza. PostgreSQL must run, and must not have archived anything yet. */
  createStanza(cluster: { data: string; port: number }): Promise<void>;
  /** Runs pgBackRest on the stanza as the account that runs PostgreSQL. Rejects with its messages. */
  run(...args: string[]): Promise<string>;
}

const shipped = resolve(import.meta.dirname, "../../../../deploy/pgbackrest");

/** The folder must be accessible to the account that runs PostgreSQL. */
export function preparePgBackRest(folder: string, changes: Record<string, string> = {}): PgBackRest {
  const account = findAccount();
  const config = join(folder, "pgbackrest.conf");
  const paths = ["repository", "log", "lock", "spool", "socket"].map((name) => makeFolder(join(folder, name), account));
  const [repository = "", log = "", lock = "", spool = "", socket = ""] = paths;
  const run = async (...args: string[]): Promise<string> => {
    const all = [`--config=${config}`, `--stanza=${stanza}`, ...args];
    const { stdout } = await promisify(execFile)("pgbackrest", all, { ...account, cwd: folder, maxBuffer: 2 ** 26 });
    return stdout;
  };
  return {
    config,
    settings: [
      `unix_socket_directories=${socket}`,
      ...readSettings().map((setting) => setting.replace("pgbackrest ", `pgbackrest --config=${config} `)),
    ],
    async createStanza({ data, port }) {
      const values = {
        "repo1-path": repository,
        "repo1-cipher-pass": "a passphrase for tests",
        "log-path": log,
        "lock-path": lock,
        "spool-path": spool,
        "pg1-path": data,
        "pg1-port": String(port),
        "pg1-socket-path": socket,
        ...changes,
      };
      writeFileSync(config, replaceValues(readFileSync(join(shipped, "pgbackrest.conf"), "utf8"), values));
      chmodSync(config, 0o600);
      if (account) chownSync(config, account.uid, account.gid);
      await run("stanza-create");
    },
    run,
  };
}

function makeFolder(path: string, account: Account | undefined): string {
  mkdirSync(path);
  if (account) chownSync(path, account.uid, account.gid);
  return path;
}

/** The settings of deploy/pgbackrest/postgresql.conf, as "name=value". */
function readSettings(): string[] {
  const text = readFileSync(join(shipped, "postgresql.conf"), "utf8");
  return [...text.matchAll(/^(\w+) = '?(.*?)'?$/gm)].map(([, name, value]) => `${name}=${value}`);
}

function replaceValues(text: string, values: Record<string, string>): string {
  return Object.entries(values).reduce((before, [name, value]) => {
    const line = new RegExp(`^${name}=.*$`, "m");
    if (!line.test(before)) throw new Error(`pgbackrest.conf does not set ${name}`);
    return before.replace(line, () => `${name}=${value}`);
  }, text);
}
