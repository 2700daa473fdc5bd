// A deliberately naive prepaid gateway, which shows what pennyblack-overspend finds. It reads the balance, calls the
// upstream, and then subtracts the price. Calls in flight are not counted, so parallel calls all pass the check.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";

const price = 0.01;
/** A round trip to a database, and to an upstream. */
const databaseMs = 2;
const upstreamMs = 20;

export function createNaiveGateway(initialBalance: number): Server {
  let balance = initialBalance;
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    const answer = (status: number, body: object): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    await wait(databaseMs);
    if (request.url === "/balance") return answer(200, { balance });
    if (balance < price) return answer(402, { error: "insufficient balance" });
    await wait(upstreamMs);
    await wait(databaseMs);
    balance -= price;
    answer(200, { results: ["a result"] });
  }
  return createServer((request, response) => void handle(request, response));
}
