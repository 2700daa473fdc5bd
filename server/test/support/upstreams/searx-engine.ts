import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startSearx } from "../../../src/dev/searx/start-searx.ts";

export interface SearxEngine {
  /** Of the searx that asks this engine. */
  searxUrl: string;
  /** What the engine answers from now on. With 200, its results. */
  status: number;
  /** How often searx has asked it. */
  asked: number;
  /** What searx itself says, before we have read it. */
  askSearx(query: string): Promise<{ status: number; results: unknown[]; unresponsive_engines: unknown[] }>;
  close(): Promise<void>;
}

/** A real searx with an engine that is ours to break; its only one, unless an index is given for a second. */
export async function startSearxEngine(index?: string): Promise<SearxEngine> {
  const server = createServer((_request, response) => {
    engine.asked += 1;
    const results = [{ title: "Cats", url: "https://example.org/cats", content: "All about cats." }];
    response.writeHead(engine.status, { "content-type": "application/json" }).end(JSON.stringify({ results }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const engineUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const searx = await startSearx({ index, engineUrl });
  const engine: SearxEngine = {
    searxUrl: searx.url,
    status: 200,
    asked: 0,
    async askSearx(query) {
      const reply = await fetch(`${searx.url}/search?format=json&q=${encodeURIComponent(query)}`);
      const { results, unresponsive_engines } = (await reply.json()) as Awaited<ReturnType<SearxEngine["askSearx"]>>;
      return { status: reply.status, results, unresponsive_engines };
    },
    async close() {
      await searx.stop();
      server.closeAllConnections();
      server.close();
    },
  };
  return engine;
}
