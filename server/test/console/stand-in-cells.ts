import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listen } from "../support/services/listen.ts";

export interface StandInCells {
  /** For the server whose console shows the cells. */
  settings: { PENNYBLACK_FLEET: string };
  /** From now on requests to the cell wait, until it responds again. */
  suspend(name: string): void;
  resume(name: string): void;
  close(): Promise<void>;
}

/** The operator APIs of three cells: one is healthy, one has problems and one is not reachable. */
export async function startStandInCells(): Promise<StandInCells> {
  const folder = await mkdtemp(join(tmpdir(), "pennyblack-stand-in-cells-"));
  const tokenFile = "token";
  writeFileSync(join(folder, tokenFile), "a-token-for-the-stand-in-cells-0123456789");
  const started = await Promise.all(Object.entries(answers).map(async ([name, of]) => startCell(name, of)));
  const cells = [
    ...started.map(({ name, url }) => ({ name, url, tokenFile })),
    { name: "ap1", url: "http://127.0.0.1:9", tokenFile },
  ];
  const file = join(folder, "fleet.json");
  writeFileSync(file, JSON.stringify({ cells }));
  const find = (name: string) => started.find((cell) => cell.name === name);
  return {
    settings: { PENNYBLACK_FLEET: file },
    suspend: (name) => find(name)?.suspend(),
    resume: (name) => find(name)?.resume(),
    async close() {
      for (const { close } of started) await close();
      await rm(folder, { recursive: true });
    },
  };
}

async function startCell(name: string, answersOf: Record<string, unknown>) {
  let waiting: (() => void)[] | undefined;
  const server = createServer(({ url = "" }, reply) => {
    const send = (): ServerResponse => reply.end(JSON.stringify(answersOf[url.replace("/operator/", "")]));
    if (waiting) waiting.push(send);
    else send();
  });
  const { url, close } = await listen(server);
  return {
    name,
    url,
    close,
    suspend() {
      waiting = [];
    },
    resume() {
      const late = waiting ?? [];
      waiting = undefined;
      for (const send of late) send();
    },
  };
}

const server = (version: string, rate: number, inFlight: number) => ({
  version,
  searches_per_second: rate,
  in_flight: inFlight,
});
/** The result of a look-up of "quay". */
const found = {
  request: null,
  unknown: null,
  wallets: [
    {
      id: "01930000-0000-7000-8000-000000000001",
      name: "Quay Research",
      account: {
        id: "01930000-0000-7000-8000-000000000002",
        name: "Quay Research",
        owners: ["quinn@quay.example"],
        deleted_at: null,
      },
      balance: "49.97",
      suspended: false,
      keys: [],
    },
  ],
  searches: [],
  has_more: false,
};

const answers = {
  eu1: {
    "find?text=quay": found,
    servers: { servers: [server("1.4.0", 412.3, 96), server("1.4.0", 398.1, 91)], is_complete: true },
    attention: { items: [] },
    money: { customer_balance: "184230.55", charged_today: "9120.44" },
  },
  us2: {
    "find?text=quay": { ...found, wallets: [] },
    servers: { servers: [server("1.4.1", 205.6, 44)], is_complete: false },
    attention: {
      items: [
        {
          severity: "page",
          title: "No worker is running",
          detail: "Last seen: 2026-11-17T02:00:00.000Z.",
          runbook: "/docs/runbooks/worker-not-seen",
        },
        {
          severity: "ticket",
          title: "Usage is 20 minutes behind",
          detail: "Customers see old usage. Balances and charges are not affected.",
          runbook: "/docs/runbooks/usage-late",
        },
      ],
    },
    money: { customer_balance: "96000.05", charged_today: "4000.01" },
  },
};
