import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Edge, EdgeFault, edgeFiles } from "./edge-config.ts";

// Writes the configuration of HAProxy in front of several cells.
//
//   npm run edge -- --cells deploy/edge/cells.json --out deploy/edge [--bind :443] [--folder /etc/haproxy]

const { values } = parseArgs({
  options: {
    cells: { type: "string", default: "deploy/edge/cells.json" },
    out: { type: "string", default: "deploy/edge" },
    bind: { type: "string", default: ":443" },
    folder: { type: "string", default: "/etc/haproxy" },
  },
});

try {
  const edge = JSON.parse(readFileSync(values.cells, "utf8")) as Edge;
  mkdirSync(values.out, { recursive: true });
  for (const [name, text] of Object.entries(edgeFiles(edge, values))) writeFileSync(join(values.out, name), text);
  console.log(`Wrote haproxy.cfg, cells.map and hosts.map to ${values.out}.`);
} catch (error) {
  if (!(error instanceof EdgeFault)) throw error;
  console.error(`${values.cells}: ${error.message}`);
  process.exitCode = 1;
}
