import { readFileSync } from "node:fs";

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string }; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
}

/** One-time module loading and compilation. */
const startup = /^node:internal\/(modules|bootstrap|main|process\/esm|deps\/(amaro|cjs-module-lexer))/;

/** From most to least specific. A call belongs to the first category that matches its file. */
const categories: [name: string, files: RegExp][] = [
  ["cleaning and ranking", /server\/src\/(ranking|lenses|search\/clean-results|search\/merge|search\/.*rank)/],
  [
    "upstream requests",
    /server\/src\/(providers|search\/(routing|find-hits|upstream))|node_modules\/undici\/|internal\/deps\/undici/,
  ],
  ["ledger", /server\/src\/(wallet|db)\/|node_modules\/(pg|pg-[a-z]+|postgres-[a-z]+)\//],
  [
    "keys and limits",
    /server\/src\/(keys|http\/request-limits)|node_modules\/(ioredis|rate-limiter-flexible|redis-[a-z]+)\//,
  ],
  [
    "log, metrics, traces",
    /server\/src\/(telemetry|app\/record-response)|node_modules\/(pino|@opentelemetry|sonic-boom|fast-redact|safe-stable-stringify|@pinojs|thread-stream)/,
  ],
  ["HTTP", /server\/src\/http\/|node_modules\/(fastify|find-my-way|light-my-request|avvio|@fastify)\//],
  ["search flow", /server\/src\//],
];

/**
 * Shares of a server's busy CPU time by category. Time in Node's own code is attributed to the caller, or to
 * "Node: sockets" if called from the event loop.
 */
export function readShares(file: string): Map<string, number> {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, "utf8")) as Profile;
  const categoryByNode = categorizeNodes(nodes);
  const spent = new Map<string, number>();
  let busy = 0;
  for (const [index, id] of samples.entries()) {
    const category = categoryByNode.get(id);
    if (category === undefined) continue;
    const durationUs = timeDeltas[index] ?? 0;
    busy += durationUs;
    spent.set(category, (spent.get(category) ?? 0) + durationUs);
  }
  const sorted = [...spent].toSorted(([, a], [, b]) => b - a);
  return new Map(sorted.map(([category, durationUs]) => [category, durationUs / busy]));
}

/** The category of each node of the call tree; undefined for idle nodes. */
function categorizeNodes(nodes: Profile["nodes"]): Map<number, string | undefined> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const names = new Map<number, string | undefined>();
  const pending = [{ id: nodes[0]?.id ?? 0, parentCategory: "Node: sockets" }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const node = byId.get(next.id);
    if (!node) continue;
    const { functionName, url } = node.callFrame;
    if (startup.test(url)) continue;
    const own = categories.find(([, files]) => files.test(url))?.[0] ?? next.parentCategory;
    names.set(next.id, specialCategory(functionName, own));
    for (const id of node.children ?? []) pending.push({ id, parentCategory: own });
  }
  return names;
}

function specialCategory(functionName: string, fallback: string): string | undefined {
  if (functionName === "(idle)") return undefined;
  return functionName === "(garbage collector)" ? "garbage collection" : fallback;
}
