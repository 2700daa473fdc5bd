import type { PlantedFault } from "./planted-fault.ts";

const evidence = "test/evidence/evidence.test";
const moneyRoles = "test/schema/money-roles.test";

export const evidenceFaults: PlantedFault[] = [
  {
    description: "the tenant role can book a payment",
    file: "server/sql/roles.sql",
    find: "  pb.begin_top_up, pb.record_checkout,",
    replace: "  pb.begin_top_up, pb.book_payment, pb.record_checkout,",
    tests: [moneyRoles],
    caughtBy: "the tenant role can open a top-up, but cannot book its payment",
  },
  {
    description: "the worker reconciles without seeing any transfer",
    file: "server/sql/policies.sql",
    find: "create policy reconciled_transfers on pb.transfers for select to pennyblack_worker using (true);",
    replace: "",
    tests: [moneyRoles],
    caughtBy: "the worker's role can reconcile the ledger, save the report and create partitions",
  },
  {
    description: "one unreadable refund or dispute ends the comparison of payments",
    file: "server/src/payments/stripe.ts",
    find: '.catch((cause: unknown) => ({ about: "unreadable", id: object.id, cause }));',
    replace: ";",
    tests: ["stories/unreadable-payments.test"],
    caughtBy: "unreadable disputes, refunds and payments open notices, and all other checks run",
  },
  {
    description: "an exported hour is signed again after its signature was removed",
    file: "server/src/wallet/evidence/sign-roots.ts",
    find: "if (lastExported !== undefined && of <= lastExported) throw signedBefore(of);",
    replace: "",
    tests: [evidence],
    caughtBy: "an hour is signed and exported once, and a signature that was removed is not replaced",
  },
  {
    description: "a root is appended to a line that was not written completely",
    file: "server/src/wallet/evidence/roots-folder.ts",
    find: 'return buffer.toString() !== "\\n";',
    replace: 'return buffer.toString() === "";',
    tests: [evidence],
    caughtBy: "an export that was interrupted within a line is completed by the next run",
  },
  {
    description: "verifying the ledger accepts any root",
    file: "server/src/wallet/evidence/verify-ledger.ts",
    find: "if (signed.root !== root) report(",
    replace: "if (signed.root === undefined) report(",
    tests: [evidence],
    caughtBy: "each fault in the exported roots is reported as what it is",
  },
  {
    description: "recent entries can be excluded from verification by marking them as archived",
    file: "server/src/wallet/evidence/verify-ledger.ts",
    find: "if (bounds.entriesSince.getTime() > Date.now() - minArchivedMs)",
    replace: "if (bounds.entriesSince.getTime() === minArchivedMs)",
    tests: [evidence],
    caughtBy: "each fault in the stored evidence is reported as what it is",
  },
  {
    description: "verifying the ledger expects the entries of archived days",
    file: "server/src/wallet/evidence/verify-ledger.ts",
    find: "(retained_since + interval '25 hours') at time zone 'utc'",
    replace: "(date '1970-01-01' + interval '25 hours') at time zone 'utc'",
    tests: ["test/processes/verify.test"],
    caughtBy: "admin verify checks archived hours by their digests, also if hours began after days were archived",
  },
  {
    description: "verifying a statement accepts any entries",
    file: "sdk/src/verify/verify-statement.ts",
    find: "if (digest !== proof.digest) {",
    replace: "if (digest === undefined) {",
    tests: [evidence],
    caughtBy: "a statement can be verified in steps, with receipts, and against a root stored elsewhere",
  },
];
