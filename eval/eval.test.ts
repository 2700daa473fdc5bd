import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const folder = mkdtempSync(join(tmpdir(), "pb-eval-test-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function writeData(name: string, data: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(data));
  return path;
}

function runEval(...args: string[]) {
  const script = new URL("./eval.ts", import.meta.url).pathname;
  return spawnSync(process.execPath, [script, "--relevance", relevance, ...args], { encoding: "utf8", cwd: folder });
}

const rated = [
  {
    query: "harbour safety",
    topic: "Politics",
    category: "gov",
    results: [
      { rank: 2, url: "https://port.gov/", rating: 5 },
      { rank: 1, url: "https://someone.blogspot.com/", rating: 1 },
    ],
  },
];
// The second result is the relevant one, and in a higher tier.
const relevance = join(folder, "relevance");
mkdirSync(relevance);
writeData("relevance/hand-written.json", [{ query: "by hand", isHeldBack: false, relevant: ["https://port.gov/b"] }]);
writeData("relevance/known-item.jsonl", { query: "named", relevant: ["https://port.gov/b"] });
writeFileSync(
  join(relevance, "pages.jsonl"),
  ["https://a.example/", "https://port.gov/b"].map((url) => `${JSON.stringify([url, "Title"])}\n`).join(""),
);
writeFileSync(
  join(relevance, "results.jsonl"),
  ["by hand", "named"]
    .map(
      (query) =>
        `${JSON.stringify({
          query,
          results: [
            [0, ""],
            [1, ""],
          ],
        })}\n`,
    )
    .join(""),
);

const navigational = [{ query: "post", results: [{ rank: 1, url: "https://post.example/" }] }];

test("prints the scores as JSON on the last line and writes no files", () => {
  const files = [
    "--credibility",
    writeData("rated.json", rated),
    "--navigational",
    writeData("nav.json", navigational),
  ];
  const before = readdirSync(folder);
  const { stdout, stderr, status } = runEval(...files);
  assert.equal(status, 0, stderr);
  const figures = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as Record<string, number>;
  // The upstream ranks the better result second, which scores (15 / log2(3)) / 15. The lens ranks it first.
  assert.deepEqual(figures, {
    credibility_20: 1,
    credibility_40: 1,
    upstream: 0.6309,
    nav_keep1: 1,
    nav_keep3: 1,
    known_mrr: 1,
    known_mrr_programming: 1,
    known_mrr_upstream: 0.5,
    hand_mrr: 1,
    hand_mrr_programming: 1,
    hand_mrr_upstream: 0.5,
  });
  assert.deepEqual(readdirSync(folder), before);
});

test("compares the tiers of domains with reliability labels", () => {
  const domains = {
    rated: [
      { domain: "port.gov", score: 0.9 },
      { domain: "unknown.example", score: 0.8 },
      { domain: "someone.blogspot.com", score: 0.1 },
    ],
    labelled: [
      { domain: "port.gov", isReliable: true },
      { domain: "unknown.example", isReliable: true },
      { domain: "other.example", isReliable: false },
    ],
  };
  const data = ["--credibility", writeData("rated.json", rated), "--navigational", writeData("nav.json", navigational)];
  const { stdout, stderr, status } = runEval(...data, "--domains", writeData("domains.json", domains));
  assert.equal(status, 0, stderr);
  const figures = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as Record<string, number>;
  // Of the two pairs of a reliable and an unreliable domain, one is ordered correctly and one is a tie.
  assert.deepEqual(Object.fromEntries(Object.entries(figures).filter(([name]) => name.startsWith("domain_"))), {
    domain_auc: 0.75,
    domain_spearman: 1,
    domain_worst_low: 1,
    domain_good_low: 0,
    domain_coverage: 0.6667,
  });
  assert.match(stdout, /\| A \| 1 \| 0\.90 \|/);
  assert.match(runEval(...data, "--domains", writeData("odd.json", [])).stderr, /odd\.json: not an object with rated/);
});

test("missing or invalid data fails with a message", () => {
  const nav = writeData("nav.json", navigational);
  assert.match(
    runEval("--credibility", join(folder, "none.json"), "--navigational", nav).stderr,
    /File not found: .*none\.json/,
  );
  const [first] = rated;
  const invalidFile = writeData("odd.json", [
    { ...first, results: [{ rank: 1, url: "https://a.example/", rating: 9 }] },
  ]);
  const { stderr, status } = runEval("--credibility", invalidFile, "--navigational", nav);
  assert.match(stderr, /odd\.json: query 1 is invalid/);
  assert.equal(status, 2);
});
