import type { PlantedFault } from "./planted-fault.ts";

const tests = ["processes/transfer.test"];
const onlyUnchanged =
  "a document is accepted only unchanged, by the cell and the wallet that it names, from the cell that signed it";

export const transferFaults: PlantedFault[] = [
  {
    id: "transfer-signature-not-checked",
    description: "the signature of a transfer is not checked",
    file: "server/src/wallet/accounting/cell-transfers.ts",
    find: 'const payload = await verifyJws(text.trim(), "pennyblack-transfer", jwks);',
    replace:
      'const payload: unknown = jwks && JSON.parse(Buffer.from(text.split(".")[1] ?? "", "base64url").toString()) && verifyJws ? JSON.parse(Buffer.from(text.split(".")[1] ?? "", "base64url").toString()) : 0;',
    tests,
    caughtBy: onlyUnchanged,
  },
  {
    id: "transfer-in-other-cell",
    description: "a transfer is accepted by another cell than the one it names",
    file: "server/sql/cell-transfers.sql",
    find: "when own_cell is distinct from (select c.name from pb.cell c) then 'other_cell'",
    replace: "when false then 'other_cell'",
    tests,
    caughtBy: onlyUnchanged,
  },
  {
    id: "transfer-booked-twice",
    description: "a transfer is booked again when the command is repeated",
    file: "server/sql/cell-transfers.sql",
    find: "own_reference text := case p_kind when 'transfer_in' then p_source || ':' else '' end || p_reference;",
    replace: "own_reference text := p_reference || clock_timestamp();",
    tests,
    caughtBy: "a transfer is booked once on each side, and repeating either command prints the first result",
  },
  {
    id: "transfer-of-indebted-wallet",
    description: "a transfer takes the balance of a wallet that owes money",
    file: "server/sql/accounting.sql",
    find: "when a.kind = 'transfer_out' and w.owed_micros > 0 then 'wallet_owes'",
    replace: "when false then 'wallet_owes'",
    tests,
    caughtBy: "only the available balance of an active wallet without debt is transferred",
  },
  {
    id: "lost-transfer-not-reported",
    description: "a transfer that the source has lost is not reported",
    file: "server/src/cells/fleet-commands.ts",
    find: 'return cells.has(source) ? "received and not sent" : undefined;',
    replace: "return undefined;",
    tests,
    caughtBy: "a source that was restored to before a transfer is reported, and books it again from the document",
  },
];
