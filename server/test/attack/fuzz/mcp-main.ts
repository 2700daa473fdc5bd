import { parseArgs } from "node:util";
import { runMcpFuzz } from "./mcp-fuzz.ts";

//   npm run fuzz:mcp -- --messages 10000 --seed 3

const { values } = parseArgs({
  options: { messages: { type: "string", default: "10000" }, seed: { type: "string", default: "1" } },
});
const { failures, ...report } = await runMcpFuzz({ messages: Number(values.messages), seed: Number(values.seed) });
for (const failure of failures.slice(0, 20)) console.log(`FAILED ${failure}`);
console.log(JSON.stringify({ ...report, failures: failures.length }));
process.exitCode = failures.length === 0 ? 0 : 1;
