import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { edgeFiles } from "../../../src/cells/edge-config.ts";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { until } from "../../support/assertions/until.ts";
import { type FakeStripe, startFakeStripe } from "../../support/payments/fake-stripe.ts";
import { createTestWallet, operatorToken, type TestWallet } from "../../support/services/server.ts";
import { startFixtureUpstream } from "../../support/upstreams/fixture-upstream.ts";
import { type SupervisedProcess, superviseProcess } from "../chaos/supervised-process.ts";
import { type Cell, hostOf, openCell } from "./cell.ts";

// Three cells on one machine, behind the real HAProxy with the configuration that `npm run edge` generates.

export interface Fleet {
  folder: string;
  cells: readonly Cell[];
  cell(name: string): Cell;
  /** The address of HAProxy. */
  url: string;
  haproxy: SupervisedProcess;
  stripe: FakeStripe;
  /** For `npm run fleet`. */
  fleetFile: string;
  close(): Promise<void>;
}

export interface FleetAccount extends TestWallet {
  accountId: string;
  /** The cell in which it was created. */
  home: string;
}

const cellNames = ["eu1", "us2", "ap3"] as const;

export async function openFleet(): Promise<Fleet> {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-cells-"));
  chmodSync(folder, 0o755);
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", removeFolder);
  const [upstream, stripe] = await Promise.all([startFixtureUpstream("searxng", "ok"), startFakeStripe()]);
  const options = { folder, upstreamUrl: upstream.url, stripeUrl: stripe.url };
  const ports = await chooseDifferentPorts(cellNames.length);
  const cells = await Promise.all(
    cellNames.map((name, index) => openCell({ ...options, name, port: ports[index] ?? fail("no port") })),
  );
  await Promise.all(cells.map((cell) => cell.start()));
  const { haproxy, url } = await startEdge(folder, cells);
  return {
    folder,
    cells,
    cell: (name) => cells.find((cell) => cell.name === name) ?? fail(`there is no cell ${name}`),
    url,
    haproxy,
    stripe,
    fleetFile: writeFleetFile(folder, cells),
    async close() {
      await haproxy.stop("SIGKILL");
      await Promise.all([...cells, upstream, stripe].map((each) => each.close()));
      removeFolder();
      process.removeListener("exit", removeFolder);
    },
  };
}

async function chooseDifferentPorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await choosePort({ host: "127.0.0.1" }));
  return [...ports];
}

async function startEdge(folder: string, cells: readonly Cell[]): Promise<{ haproxy: SupervisedProcess; url: string }> {
  const port = await choosePort({ host: "127.0.0.1" });
  const described = cells.map(({ name, address, opsPort }) => [
    name,
    { host: hostOf(name), servers: [address], opsPort },
  ]);
  const files = edgeFiles(
    { defaultCell: cellNames[0], cells: Object.fromEntries(described) },
    { bind: `127.0.0.1:${port}`, folder },
  );
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const haproxy = superviseProcess({
    name: "haproxy",
    program: "haproxy",
    args: ["-db", "-f", join(folder, "haproxy.cfg")],
    environment: { PATH: `${process.env["PATH"]}:/usr/sbin` },
    logFile: join(folder, "haproxy.log"),
    folder,
  });
  haproxy.start();
  const url = `http://127.0.0.1:${port}`;
  await until("HAProxy listens", async () => (await fetch(url).catch(() => undefined)) !== undefined, 20_000);
  return { haproxy, url };
}

function writeFleetFile(folder: string, cells: readonly Cell[]): string {
  const tokenFile = join(folder, "operator.token");
  writeFileSync(tokenFile, operatorToken);
  const file = join(folder, "fleet.json");
  const described = cells.map(({ name, server }) => ({ name, url: server.opsUrl, tokenFile }));
  writeFileSync(file, JSON.stringify({ cells: described }));
  return file;
}

/** Accounts with a wallet and labelled keys, the same number in each cell. */
export async function createAccounts({ cells }: Fleet, count: number): Promise<FleetAccount[]> {
  const accounts: FleetAccount[] = [];
  for (let index = 0; index < count; index += 1) {
    const { name, owner } = cells[index % cells.length] ?? fail("there are no cells");
    const wallet = await createTestWallet({ owner }, initialBalance);
    const { rows } = await owner.query<{ id: string }>("select account_id as id from pb.wallets where id = $1", [
      wallet.walletId,
    ]);
    accounts.push({ ...wallet, home: name, accountId: rows[0]?.id ?? fail("the wallet has no account") });
  }
  return accounts;
}

/** More than an account spends. */
export const initialBalance = "5000.00";

export function fail(message: string): never {
  throw new Error(message);
}
