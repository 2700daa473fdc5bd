import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { homedir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, beforeEach, test } from "node:test";
import { createCli } from "../../server/test/support/clients/run-cli.ts";
import { listen } from "../../server/test/support/services/listen.ts";
import { rankingsFolder } from "./saved-rankings.ts";

const requestId = "019a8e7c-31f5-7cc2-8a56-3f1c9d2b7e10";
const at = "2026-11-16T17:20:01.123Z";
const entry = { id: "e-1", kind: "search", amount: "-0.01", currency: "usd", request_id: requestId, created_at: at };
const details = {
  request_id: requestId,
  kind: "search",
  at,
  mode: "live",
  key_id: "k-1",
  key_name: "batch",
  category: null,
  outcome: "ok",
  charged: "0.01",
  ms: 312,
  run: "nightly",
  transport: null,
  entries: [{ ...entry, kind: "refund", amount: "0.01" }, entry],
};
const refusedId = requestId.replace("019a", "019c");
const refused = {
  ...details,
  request_id: refusedId,
  kind: "refused",
  outcome: "run_budget_spent",
  charged: "0.00",
  ms: null,
  transport: "mcp",
  entries: [],
};
const responses: Record<string, object> = {
  [`/v1/searches/${requestId}`]: details,
  [`/v1/searches/${refusedId}`]: refused,
  [`/v1/searches/${requestId.replace("019a", "019d")}`]: { ...refused, kind: "replayed", outcome: "replayed" },
};
const result = {
  title: "Flood\u001b[31m warning",
  url: "https://www.weather.gov/flood",
  snippet: "s",
  source: "weather.gov",
};
const headers = {
  "request-id": requestId,
  "wallet-charge": "0.01;currency=usd",
  "rank-lens": "base@2026-11-15.1",
  "rank-explain": "1;from=4;tier=A;why=government;score=0.919, more;count=1",
};

let searchHeaders: Record<string, string> = headers;
const explainHeaders: (string | undefined)[] = [];
const server = createServer((request, response) => {
  text(request).then(
    () => {
      const isSearch = request.url === "/v1/search";
      if (isSearch) explainHeaders.push(request.headers["rank-explain"] as string | undefined);
      const found = isSearch ? { query: "q", n: 2, results: [result, result] } : responses[request.url ?? ""];
      response.writeHead(found ? 200 : 404, isSearch ? searchHeaders : {});
      response.end(JSON.stringify(found ?? { code: "not_found", detail: "Not found." }));
    },
    () => response.destroy(),
  );
});
const { url, close } = await listen(server);
const cli = createCli();
const env = { PENNYBLACK_URL: url, PENNYBLACK_API_KEY: "pb_live_a", PENNYBLACK_MANAGEMENT_KEY: "pb_mgmt_b" };
const folder = rankingsFolder({ XDG_STATE_HOME: cli.XDG_STATE_HOME }, "linux");

beforeEach(() => {
  searchHeaders = headers;
  explainHeaders.length = 0;
  rmSync(folder, { recursive: true, force: true });
});
after(async () => {
  await close();
  cli.remove();
});

async function succeed(...args: string[]) {
  const { code, out, err } = await cli.run(args, env);
  assert.equal(code, 0, err);
  return out;
}

test("why prints what happened, what it cost and why each result has its rank", async () => {
  await succeed("search", "river flood warning");
  const out = await succeed("why", requestId);
  const lines = [
    "Outcome   Succeeded",
    "Sent      2026-11-16 17:20:01 UTC",
    "Duration  312 ms",
    "Key       batch, k-1 (live)",
    "Run       nightly",
    "Charged   0.01 USD",
    "          search -0.01 USD on 2026-11-16 17:20:01 UTC",
    "          refund 0.01 USD on 2026-11-16 17:20:01 UTC",
    "Ranking by the lens base@2026-11-15.1:",
    "1.  Flood [31m warning",
    "    Rank 1, up from 4 at the upstream. The page is a primary source (tier A) because of the rule",
    '    "government". Score: 0.919.',
    "    The explanation of this result did not fit in the response.",
  ];
  for (const line of lines) assert.ok(out.includes(`${line}\n`), `${line}\n${out}`);
  const { ranking, outcome } = JSON.parse(await succeed("why", requestId, "--json"));
  assert.deepEqual([outcome, ranking.lens, ranking.results[0].url], ["ok", "base@2026-11-15.1", result.url]);
});

test("why prints the saved ranking even without a management key", async () => {
  await succeed("search", "river flood warning");
  const { code, out, err } = await cli.run(["why", requestId], { PENNYBLACK_URL: url });
  assert.equal(code, 2);
  assert.match(out, /^Ranking by the lens base@/);
  assert.match(err, /No API key\. Set PENNYBLACK_MANAGEMENT_KEY/);
});

test("why prints why a request was refused, and that a replay was free", async () => {
  const out = await succeed("why", refusedId);
  const lines = [
    "Outcome  Refused before its price was held (run_budget_spent)",
    "Key      batch, k-1 (live)",
    "Run      nightly",
    "Sent to  /mcp",
    "Charged  0.00 USD",
  ];
  for (const line of lines) assert.ok(out.includes(`${line}\n`), `${line}\n${out}`);
  assert.ok(!out.includes("Duration"), out);
  assert.match(
    await succeed("why", refusedId.replace("019c", "019d")),
    /^Outcome {2}Answered from its Idempotency-Key, /m,
  );
});

test("why explains an unknown id", async () => {
  const { code, err } = await cli.run(["why", requestId.replace("019a", "019b")], env);
  assert.equal(code, 1);
  assert.match(err, /^No search of this wallet has this ID, so the wallet was not charged for it\. /);
});

test("the saved ranking is private and does not contain the query", async () => {
  await succeed("search", "river flood warning");
  const path = join(folder, `${requestId}.json`);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.ok(!readFileSync(path, "utf8").includes("river"));
});

test("search requests the explanation for the history, but prints it only with --explain", async () => {
  assert.ok(!(await succeed("search", "q")).includes("Ranking:"));
  assert.equal(JSON.parse(await succeed("search", "q", "--json")).meta.explanation, undefined);
  assert.match(await succeed("search", "q", "--explain"), /\nRanking:\n {2}Rank 1, up from 4 at the upstream\. /);
  assert.deepEqual(explainHeaders, ["1", "1", "1"]);
});

test("--no-history and PENNYBLACK_NO_HISTORY save nothing", async () => {
  await succeed("search", "q", "--no-history");
  assert.equal((await cli.run(["search", "q"], { ...env, PENNYBLACK_NO_HISTORY: "1" })).code, 0);
  assert.deepEqual(explainHeaders, [undefined, undefined]);
  assert.match(
    await succeed("why", requestId),
    /\n\nThe ranking is not saved on this computer.*\n.*repeat the search with --explain\./,
  );
});

test("only the last 50 rankings are saved", async () => {
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < 60; index += 1) {
    const path = join(folder, `old-${index}.json`);
    writeFileSync(path, "{}", { mode: 0o600 });
    utimesSync(path, index, index);
  }
  await succeed("search", "q");
  const names = readdirSync(folder);
  assert.deepEqual([names.length, names.includes("old-59.json"), names.includes("old-10.json")], [50, true, false]);
  assert.ok(names.includes(`${requestId}.json`));
});

test("a search succeeds if its ranking cannot be saved or has an invalid request id", async () => {
  const blocked = join(cli.home, "blocked");
  writeFileSync(blocked, "");
  assert.equal((await cli.run(["search", "q"], { ...env, XDG_STATE_HOME: blocked })).code, 0);
  searchHeaders = { ...headers, "request-id": "../../escaped" };
  await succeed("search", "q");
  assert.ok(!existsSync(join(cli.XDG_STATE_HOME, "escaped.json")));
});

test("rankings are stored in the platform's state folder", () => {
  assert.equal(rankingsFolder({}, "linux"), join(homedir(), ".local/state/pennyblack/searches"));
  assert.equal(rankingsFolder({ LOCALAPPDATA: "/local" }, "win32"), "/local/pennyblack/searches");
});
