import { readFileSync } from "node:fs";

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string }; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
}

/** Reading and compiling files, once. */
const starting = /^node:internal\/(modules|bootstrap|main|process\/esm|deps\/(amaro|cjs-module-lexer))/;

/** From the sharpest to the widest: the first that fits the file of a call has its time. */
const parts: [name: string, files: RegExp][] = [
  ["cleaning and ranking", /server\/src\/(ranking|lenses|search\/clean-results|search\/merge|search\/.*rank)/],
  [
    "asking the upstream",
    /server\/src\/(providers|search\/(routing|find-hits|upstream))|node_modules\/undici\/|internal\/deps\/undici/,
  ],
  ["ledger", /server\/src\/(wallet|db)\/|node_modules\/(pg|pg-[a-z]+|postgres-[a-z]+)\//],
  [
    "keys and limits",
    /server\/src\/(keys|search\/limits)|node_modules\/(ioredis|rate-limiter-flexible|redis-[a-z]+)\//,
  ],
  [
    "log, metrics, traces",
    /server\/src\/(telemetry|note-answer)|node_modules\/(pino|@opentelemetry|sonic-boom|fast-redact|safe-stable-stringify|@pinojs|thread-stream)/,
  ],
  ["HTTP", /server\/src\/http\/|node_modules\/(fastify|find-my-way|light-my-request|avvio|@fastify)\//],
  ["the story of the search", /server\/src\//],
];

/**
 * How the CPU time of a server was spent, in shares of what it was busy. Time inside Node's own code belongs to whoever
 * called it, and to "Node: sockets" if that was the event loop.
 */
export function readShares(file: string): Map<string, number> {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, "utf8")) as Profile;
  const partOf = nameNodes(nodes);
  const spent = new Map<string, number>();
  let busy = 0;
  for (const [index, id] of samples.entries()) {
    const part = partOf.get(id);
    if (part === undefined) continue;
    const took = timeDeltas[index] ?? 0;
    busy += took;
    spent.set(part, (spent.get(part) ?? 0) + took);
  }
  const sorted = [...spent].toSorted(([, one], [, other]) => other - one);
  return new Map(sorted.map(([part, took]) => [part, took / busy]));
}

/** The part of each node of the tree of calls; none for those that wait. */
function nameNodes(nodes: Profile["nodes"]): Map<number, string | undefined> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const names = new Map<number, string | undefined>();
  const open = [{ id: nodes[0]?.id ?? 0, above: "Node: sockets" }];
  for (let next = open.pop(); next; next = open.pop()) {
    const node = byId.get(next.id);
    if (!node) continue;
    const { functionName, url } = node.callFrame;
    if (starting.test(url)) continue;
    const own = parts.find(([, files]) => files.test(url))?.[0] ?? next.above;
    names.set(next.id, nameSpecial(functionName, own));
    for (const id of node.children ?? []) open.push({ id, above: own });
  }
  return names;
}

function nameSpecial(functionName: string, otherwise: string): string | undefined {
  if (functionName === "(idle)") return undefined;
  return functionName === "(garbage collector)" ? "garbage collection" : otherwise;
}
