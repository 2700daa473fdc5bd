import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createPool } from "../db/pool.ts";
import { formatUsd, parseUsd } from "../lib/money.ts";
import { readWallet, topUpBatch } from "../wallet/wallet.ts";

export interface PlayMoney {
  url: string;
  stop: () => Promise<void>;
}

interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

const amount = parseUsd("5.00") ?? 0n;

/** The top-up page of `npm run dev`, instead of one where money is paid. The server itself has no such page. */
export async function startPlayMoney(ownerUrl: string, walletId: string): Promise<PlayMoney> {
  const pool = createPool({ url: ownerUrl, name: "pennyblack dev top-ups", connections: 1, onIdleError: () => {} });
  const server = createServer((request, response) => {
    const answer = request.method === "POST" ? add(request.headers.origin) : show(request.url === "/added");
    answer.then(
      ({ status, headers = {}, body = "" }) => response.writeHead(status, headers).end(body),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    async stop() {
      server.closeAllConnections();
      server.close();
      await pool.end();
    },
  };

  async function show(hasAdded: boolean): Promise<Answer> {
    const balance = formatUsd((await readWallet(pool, walletId))?.balance ?? 0n);
    return { status: 200, headers: { "content-type": "text/html; charset=utf-8" }, body: page(balance, hasAdded) };
  }

  async function add(origin: string | undefined): Promise<Answer> {
    // Other pages in the browser cannot add money.
    if (origin !== url) return { status: 403 };
    await topUpBatch(pool, "credit", [{ paymentId: `play-${crypto.randomUUID()}`, walletId, amount }]);
    return { status: 303, headers: { location: "/added" } };
  }
}

function page(balance: string, hasAdded: boolean): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Play money - Pennyblack</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 32rem; margin: 15vh auto; padding: 0 1rem; }
  button { font: inherit; font-weight: 600; padding: 0.5rem 1rem; }
</style>
<h1>Play money</h1>
<p>Live searches of npm run dev are paid with play money. No card is charged.</p>
<p role="status">${hasAdded ? `${formatUsd(amount)} USD were added. ` : ""}The balance is ${balance} USD.</p>
<form method="post"><button>Add ${formatUsd(amount)} USD of play money</button></form>
</html>
`;
}
