import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface FixtureUpstream {
  url: string;
  /** From now on every request is answered with this fixture, such as "brave", "empty-account". */
  serve(provider: string, fixture: string): void;
  /** How many requests came. */
  count(): number;
  close(): Promise<void>;
}

/** A real server on loopback that says what a provider would: the fixtures of its adapter. */
export async function startFixtureUpstream(provider: string, fixture: string): Promise<FixtureUpstream> {
  let reply = readFixture(provider, fixture);
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    request.resume();
    response.writeHead(reply.status, reply.headers).end(reply.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serve(nextProvider, nextFixture) {
      reply = readFixture(nextProvider, nextFixture);
    },
    count: () => count,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function readFixture(
  provider: string,
  name: string,
): { status: number; headers: Record<string, string>; body: string } {
  const file = new URL(`../../../src/providers/fixtures/${provider}/${name}.json`, import.meta.url);
  const { status, headers, body } = JSON.parse(readFileSync(file, "utf8"));
  return { status, headers, body: typeof body === "string" ? body : JSON.stringify(body) };
}
