import assert from "node:assert/strict";
import { after, test } from "node:test";
import { parseArgs } from "node:util";
import pg from "pg";
import { verifyStatement } from "../../../sdk/src/verify/verify.ts";
import type { LedgerEntry } from "../../src/evidence/ledger-lines.ts";
import { formatEntry } from "../../src/evidence/ledger-lines.ts";
import { readRoots } from "../../src/evidence/roots-folder.ts";
import { readSignedRoots } from "../../src/evidence/signed-roots.ts";
import { type Difference, verifyLedger } from "../../src/evidence/verify-ledger.ts";
import { createSigner } from "../../src/lib/sign-jws.ts";
import { createRandom } from "../faults/random.ts";
import { seed } from "../support/data/seed.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { sign, writeEvidence, writeRows } from "./forge.ts";
import { computeHours, hourOf, readRows, toCsv, toProof } from "./ledger-rows.ts";
import { seedSignedLedger } from "./seed-ledger.ts";
import { tamperings } from "./tamper.ts";

// A superuser without the signing key changes closed hours, with triggers and constraints off. Each change is detected by
// verifyLedger against the exported roots, and by the customers who own the wallets, even after every digest and root in
// the database has been recomputed. Each change is verified alone and recomputed, so 504 changes are 1,008 tamperings.
// Long version: node server/test/evidence/tampering.test.ts --changes=10000

const { values } = parseArgs({ options: { changes: { type: "string" } } });
const changes = Number(values.changes ?? 504);

const db = await createTestDatabase();
const { wallets, signer, folder, signed, hours } = await seedSignedLedger(db);
const client = new pg.Client({ connectionString: db.superuserUrl });
await client.connect();
after(async () => {
  await client.end();
  await db.drop();
});
// Parses bigint columns as the product's pool does.
client.setTypeParser(20, (text: string) => BigInt(text));
await client.query("set session_replication_role = replica");
await client.query(
  "alter table pb.transfers drop constraint transfer_legs_match_kind, drop constraint transfers_amount_micros_check",
);

const rows = await readRows(client);
const model = computeHours(rows, hours);
const roots = await readSignedRoots(readRoots(folder), signer.jwks);
const stranger = createSigner([Buffer.alloc(32, 9)]) ?? assert.fail();
const walletIds = wallets.map(({ walletId }) => walletId);

async function verify(): Promise<Difference[]> {
  const found: Difference[] = [];
  const onDifference = (difference: Difference): unknown => found.push(difference);
  await verifyLedger({ inTransaction: (work) => work(client), roots, onDifference });
  return found;
}

/** Runs the work and undoes its changes. */
async function rolledBack(work: () => Promise<void>): Promise<void> {
  await client.query("begin");
  try {
    await work();
  } finally {
    await client.query("rollback");
  }
}

/** "<hour> <wallet>" of every wallet and hour whose entries differ. */
function findAffected(after: readonly LedgerEntry[]): string[] {
  const linesOf = (own: readonly LedgerEntry[]) => Map.groupBy(own, (row) => `${hourOf(row)} ${row.walletId}`);
  const [old, fresh] = [linesOf(rows), linesOf(after)];
  const text = (lines: LedgerEntry[] | undefined): string => (lines ?? []).map(formatEntry).toSorted().join("");
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .filter((key) => text(old.get(key)) !== text(fresh.get(key)))
    .toSorted();
}

async function checkCustomers(changed: readonly LedgerEntry[], affected: readonly string[]): Promise<void> {
  const forged = computeHours(changed, hours);
  const forgedSignatures = new Map(
    await Promise.all(forged.map(async (hour) => [hour.hour, await sign(hour, stranger)] as const)),
  );
  for (const walletId of walletIds.filter((id) => affected.some((key) => key.endsWith(id)))) {
    const csv = toCsv(changed, walletId);
    const expect = async (proof: ReturnType<typeof toProof>, reasons: string[]): Promise<void> => {
      if (!proof) return;
      const result = await verifyStatement({ csv, proof, jwks: signer.jwks });
      assert.ok(!result.ok && reasons.includes(result.reason), `${walletId}: ${JSON.stringify(result)}`);
    };
    await expect(toProof(model, walletId, signed), ["wrong_digest", "uncovered_entries"]);
    await expect(toProof(forged, walletId, signed), ["wrong_root"]);
    await expect(toProof(forged, walletId, forgedSignatures), ["wrong_signature"]);
  }
}

test("the untampered ledger verifies, even in the attacker's session", async () => {
  await rolledBack(async () => assert.deepEqual(await verify(), []));
  for (const walletId of walletIds) {
    const proof = toProof(model, walletId, signed) ?? assert.fail();
    assert.ok((await verifyStatement({ csv: toCsv(rows, walletId), proof, jwks: signer.jwks })).ok);
  }
});

const kinds = Object.entries(tamperings);
const changesPerKind = Math.ceil(changes / kinds.length);
const entryFaults = ["digest", "missing_entries", "unknown_entries"];

for (const [kind, tamper] of kinds) {
  test(`${kind}: ${changesPerKind} times with seed ${seed}, all detected`, async () => {
    const random = createRandom(seed, kind);
    for (let run = 0; run < changesPerKind; run += 1) {
      const changed = tamper(rows, random, { walletIds, hours });
      const affected = findAffected(changed);
      assert.ok(affected.length > 0, "the ledger was not changed");
      await rolledBack(async () => {
        await writeRows(client, rows, changed);
        const found = await verify();
        // Each wallet and hour whose entries differ is reported, and no other.
        const reported = found
          .filter(({ what }) => entryFaults.includes(what))
          .map(({ of, walletId }) => `${of} ${walletId}`);
        assert.deepEqual(reported.toSorted(), affected);

        await writeEvidence(client, computeHours(changed, hours), stranger);
        const afterwards = await verify();
        const recomputed = afterwards.filter(({ what }) => [...entryFaults, "checkpoint"].includes(what));
        assert.deepEqual(recomputed, [], "the digests were recomputed, so only the signed roots differ");
        const wrongHours = new Set(afterwards.filter(({ what }) => what === "root").map(({ of }) => of));
        for (const key of affected) assert.ok(wrongHours.has(key.slice(0, 20)), `${key} is not reported`);
        assert.equal(
          [...wrongHours].toSorted()[0],
          affected[0]?.slice(0, 20),
          "the first wrong hour is the first changed one",
        );
      });
      await checkCustomers(changed, affected);
    }
  });
}
