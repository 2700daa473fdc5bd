import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import pg from "pg";
import {
  type Jwks,
  type ReceiptClaims,
  type VerifyStatementOptions,
  verifyStatement,
} from "../../../sdk/src/verify/verify.ts";
import { inTransaction } from "../../src/db/in-transaction.ts";
import { readRoots } from "../../src/evidence/roots-folder.ts";
import { signRoots } from "../../src/evidence/sign-roots.ts";
import { readSignedRoots } from "../../src/evidence/signed-roots.ts";
import { type Difference, verifyLedger } from "../../src/evidence/verify-ledger.ts";
import { createSigner } from "../../src/lib/sign-jws.ts";
import { createFixture } from "../fixture.ts";
import { assertProblem } from "../support/assertions/assert-response.ts";
import { computeHours, readRows, toCsv, toProof } from "./ledger-rows.ts";
import { seedSignedLedger } from "./seed-ledger.ts";

// Evidence of closed hours, from the database to the customer's verification.

const { db, server, createWallet } = await createFixture();
const ledger = await seedSignedLedger(db);
const { wallets, signer, folder, signed, hours } = ledger;
const jwks: Jwks = (await server.request("/.well-known/jwks.json")).body;

const signOptions = { signer, publicUrl: "http://search.test" };

async function verify(from = folder, keys = signer.jwks): Promise<Difference[]> {
  const found: Difference[] = [];
  await verifyLedger({
    inTransaction: (work) => inTransaction(db.owner, work, "begin isolation level repeatable read read only"),
    roots: await readSignedRoots(readRoots(from), keys),
    onDifference: (difference) => found.push(difference),
  });
  return found;
}

/** Runs SQL as superuser with triggers off, and undoes it afterwards. */
async function withFault(sql: string, work: () => Promise<void>, undo: string): Promise<void> {
  const client = new pg.Client({ connectionString: db.superuserUrl });
  await client.connect();
  try {
    await client.query("set session_replication_role = replica");
    await client.query(sql);
    await work();
    await client.query(undo);
  } finally {
    await client.end();
  }
}

test("the untampered ledger verifies against the exported roots", async () => {
  assert.deepEqual(await verify(), []);
  const model = computeHours(await readRows(db.owner), hours);
  const { rows } = await db.owner.query<{ root: Buffer }>("select root from pb.ledger_hours order by hour");
  assert.deepEqual(
    rows.map(({ root }) => root.toString("hex")),
    model.map(({ root }) => root.toString("hex")),
  );
  assert.equal(model.filter(({ digests }) => digests.length > 0).length, 7);
});

test("the export and the proof of the API are what the model expects, and verify", async () => {
  const rows = await readRows(db.owner);
  const model = computeHours(rows, hours);
  for (const { walletId, management } of wallets) {
    const csv = (await server.manage(management, "GET", "/v1/wallet/entries.csv")).text;
    assert.equal(csv, toCsv(rows, walletId));
    const proof = (await server.manage(management, "GET", "/v1/wallet/proof")).body;
    assert.deepEqual({ ...proof }, toProof(model, walletId, signed));
    const verified = await verifyStatement({ csv, proof, jwks });
    assert.ok(verified.ok, JSON.stringify(verified));
    assert.equal(verified.entries, rows.filter((row) => row.walletId === walletId).length);
  }
});

test("a statement can be verified in steps, with receipts, and against a root stored elsewhere", async () => {
  const { walletId, management } = wallets[3] ?? assert.fail();
  const csv = (await server.manage(management, "GET", "/v1/wallet/entries.csv")).text;
  const read = async (until: string) =>
    (await server.manage(management, "GET", `/v1/wallet/proof?until=${until}`)).body as VerifyStatementOptions["proof"];
  const active = computeHours(await readRows(db.owner), hours).filter(({ digests }) =>
    digests.some((digest) => digest.walletId === walletId),
  );
  const [first, second] = active;
  const last = active.at(-1);
  assert.ok(first && second && last);
  // The end of the first hour is the earliest time at which there is a proof for it.
  const end = new Date(Date.parse(first.hour) + 3_600_000).toISOString();
  const early = await read(end);
  assert.deepEqual([early.hour, early.complete_until], [first.hour, second.hour]);
  const before = csv.split("\r\n").filter((line, index) => index === 0 || line < end || line === "");
  const step = await verifyStatement({ csv: before.join("\r\n"), proof: early, jwks });
  assert.ok(step.ok, JSON.stringify(step));

  const rest = csv.split("\r\n").filter((line, index) => index === 0 || line >= end || line === "");
  const proof = (await server.manage(management, "GET", "/v1/wallet/proof")).body;
  const options = { csv: rest.join("\r\n"), proof, jwks, since: step };
  assert.deepEqual((await verifyStatement(options)).ok, true);
  const reasonOf = async (more: Partial<VerifyStatementOptions>): Promise<string> => {
    const result = await verifyStatement({ ...options, ...more });
    return result.ok ? "ok" : result.reason;
  };
  const root = last.root.toString("hex");
  assert.equal(await reasonOf({ since: { hour: step.hour, digest: "00".repeat(32) } }), "wrong_digest");
  assert.equal(await reasonOf({ root: { of: last.hour, root } }), "ok");
  assert.equal(await reasonOf({ root: { of: last.hour.slice(0, 10), root } }), "other_root");
  assert.equal(await reasonOf({ root: { of: first.hour, root } }), "other_root");
  const dayRoot = JSON.parse(Buffer.from(proof.in_day.signed.split(".")[1], "base64url").toString()).root;
  assert.equal(await reasonOf({ root: { of: last.hour.slice(0, 10), root: dayRoot } }), "ok");
  assert.equal(await reasonOf({ csv: csv.replace("request_id", "request") }), "malformed");
  assert.equal(await reasonOf({ csv: csv.slice(0, -2) }), "malformed");
  assert.equal(await reasonOf({ csv: csv.replace(",-0.01,", ",-0.02,") }), "inconsistent_entry");
  assert.equal(await reasonOf({ proof: { ...proof, in_hour: { ...proof.in_hour, path: [] } } }), "wrong_root");
  assert.equal(await reasonOf({ proof: { ...proof, hour: second.hour } }), "uncovered_entries");
  const [entry] = (await server.manage(management, "GET", "/v1/wallet/entries?limit=1")).body.entries;
  const [created_at = ""] = rest.find((line) => line.includes(entry.id))?.split(",") ?? [];
  const receipt = { entries: [{ ...entry, created_at }] } as unknown as ReceiptClaims;
  assert.equal(await reasonOf({ receipts: [receipt] }), "ok");
  const other = { entries: [{ ...entry, created_at, amount: "-9.00" }] } as unknown as ReceiptClaims;
  assert.equal(await reasonOf({ receipts: [other] }), "receipt_mismatch");
  assert.equal(
    await reasonOf({ receipts: [receipt], csv: rest.filter((line) => !line.includes(entry.id)).join("\r\n") }),
    "receipt_mismatch",
  );
});

test("a wallet without a closed hour has no proof", async () => {
  const fresh = await createWallet("1.00");
  const reply = await server.manage(fresh.management, "GET", "/v1/wallet/proof");
  assertProblem(reply, "not_found", "/v1/wallet/proof");
  const [first] = wallets;
  assertProblem(
    await server.manage(first?.management ?? "", "GET", "/v1/wallet/proof?until=2001-01-01"),
    "not_found",
    "/v1/wallet/proof",
  );
});

test("each fault in the stored evidence is reported correctly", async () => {
  const hour = hours.findLast((name) => signed.has(name)) ?? "";
  const at = `timestamptz '${hour}'`;
  const [first = ""] = hours;
  await db.owner.query("create table pb.saved_hours as select * from pb.ledger_hours");
  const restore = "delete from pb.ledger_hours; insert into pb.ledger_hours select * from pb.saved_hours";
  for (const [sql, what, undo] of [
    [`delete from pb.ledger_hours where hour = ${at}`, "missing_hour", restore],
    [`delete from pb.ledger_hours where hour = '${first}'`, "missing_hour", restore],
    [`update pb.ledger_hours set root = sha256('') where entries > 0`, "stored_root", restore],
    [`update pb.ledger_hours set signed = 'a.b.c' where hour = ${at}`, "stored_root", restore],
    [`update pb.ledger_hours set entries = entries + 1 where hour = ${at}`, "sums", restore],
    [
      "update pb.wallet_hours set credited_micros = credited_micros + 1",
      "sums",
      "update pb.wallet_hours set credited_micros = credited_micros - 1",
    ],
    [
      "update pb.wallet_checkpoints set digest = sha256(digest)",
      "checkpoint",
      "update pb.wallet_checkpoints c set digest = (select digest from pb.wallet_hours h where h.wallet_id = c.wallet_id order by hour desc limit 1)",
    ],
    [
      "update pb.retention set retained_since = current_date",
      "missing_entries",
      "update pb.retention set retained_since = '1970-01-01'",
    ],
    [
      "update pb.ledger_watermark set closed_before = closed_before - interval '1 hour'",
      "missing_hour",
      "update pb.ledger_watermark set closed_before = closed_before + interval '1 hour'",
    ],
    [
      "update pb.ledger_days set root = sha256(root || '1')",
      "day_root",
      "update pb.ledger_days d set root = s.root from pb.saved_days s where s.day = d.day",
    ],
  ] as const) {
    await db.owner.query("create table if not exists pb.saved_days as select * from pb.ledger_days");
    await withFault(
      sql,
      async () =>
        assert.ok(
          (await verify()).some((found) => found.what === what),
          sql,
        ),
      undo,
    );
    assert.deepEqual(await verify(), [], `undone: ${sql}`);
  }
});

test("each fault in the exported roots is reported correctly", async () => {
  const other = createSigner([Buffer.alloc(32, 5)]) ?? assert.fail();
  assert.ok((await verify(folder, other.jwks)).every(({ what }) => what === "signature"));
  const files = await readdir(folder);
  const name = files.toSorted()[1] ?? "";
  const lines = (await readFile(join(folder, name), "utf8")).trimEnd().split("\n");
  const [line = ""] = lines;
  const { of, root, signed: jws } = JSON.parse(line);
  const again = { iss: "http://search.test", hour: of, root: "ab".repeat(32), wallets: 0, entries: 0, previous: null };
  const conflicting = JSON.stringify({ of, root: again.root, signed: await signer.sign("pennyblack-hour", again) });
  for (const [changed, what] of [
    [lines.slice(1), "missing_root"],
    [["not JSON", ...lines], "signature"],
    [[JSON.stringify({ of, root: "cd".repeat(32), signed: jws }), ...lines.slice(1)], "signature"],
    [[...lines, conflicting], "conflicting_roots"],
    [[conflicting, ...lines.slice(1)], "root"],
    [[conflicting, ...lines.slice(1)], "chain"],
    [[line, ...lines], undefined],
  ] as const) {
    const copy = await mkdtemp(join(tmpdir(), "pb-roots-"));
    for (const file of files) await writeFile(join(copy, file), await readFile(join(folder, file)));
    await writeFile(join(copy, name), `${changed.join("\n")}\n`);
    const found = (await verify(copy)).map((difference) => difference.what);
    assert.ok(what === undefined ? found.length === 0 : found.includes(what), `${what}: ${found.join(" ")}; ${root}`);
  }
});

test("an hour is signed and exported once, and a signature that was removed is not replaced", async () => {
  const exported = async (from: string) =>
    (await Promise.all((await readdir(from)).toSorted().map((file) => readFile(join(from, file), "utf8")))).join("");
  const before = await exported(folder);
  assert.equal(await signRoots(db.owner, { ...signOptions, folder }), 0);
  assert.equal(await exported(folder), before);
  // A folder that is configured later gets every root.
  const second = await mkdtemp(join(tmpdir(), "pb-roots-"));
  await signRoots(db.owner, { ...signOptions, folder: second });
  assert.equal(await exported(second), before);

  await db.owner.query("create table pb.saved_roots as select hour, root, signed from pb.ledger_hours");
  const undo =
    "update pb.ledger_hours h set root = s.root, signed = s.signed from pb.saved_roots s where s.hour = h.hour";
  const last = hours.at(-1) ?? "";
  for (const [which, options] of [
    [`hour = '${last}'`, { ...signOptions, folder }],
    [`hour < '${last}'`, signOptions],
  ] as const) {
    const sql = `update pb.ledger_hours set root = null, signed = null where ${which}`;
    await withFault(sql, () => assert.rejects(signRoots(db.owner, options), /was signed before/), undo);
  }
  assert.equal(await exported(folder), before);
  assert.deepEqual(await verify(), []);
});

test("an export that was interrupted within a line is completed by the next run", async () => {
  const copy = await mkdtemp(join(tmpdir(), "pb-roots-"));
  const files = (await readdir(folder)).toSorted();
  for (const file of files) await writeFile(join(copy, file), await readFile(join(folder, file)));
  const last = join(copy, files.at(-1) ?? "");
  const text = await readFile(last, "utf8");
  await writeFile(last, text.slice(0, text.lastIndexOf("{") + 100));
  for (let run = 0; run < 2; run += 1) {
    await signRoots(db.owner, { ...signOptions, folder: copy });
    assert.deepEqual(await verify(copy), []);
  }
  const lines = async (path: string) => (await readFile(path, "utf8")).split("\n").length;
  assert.equal(await lines(last), text.split("\n").length + 1, "the line is appended again, once");
});
