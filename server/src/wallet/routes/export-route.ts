import { Type } from "typebox";
import type { Pool } from "../../db/pool.ts";
import { invalidParameter } from "../../http/input/faults.ts";
import { dayOrTime, readQuery } from "../../http/input/query-parameters.ts";
import { managementProblems, type Route } from "../../http/route.ts";
import { unavailable } from "../../http/unavailable.ts";
import { exportEntries } from "../reads/export-entries.ts";
import type { WalletGuard } from "./wallet-guard.ts";

export function exportRoute(dependencies: { tenant: Pool; guard: WalletGuard }): Route {
  return {
    method: "GET",
    path: "/v1/wallet/entries.csv",
    scope: "wallet:read",
    operationId: "exportEntries",
    tag: "Wallet",
    summary: "Export entries as CSV",
    description:
      "Returns every entry as CSV (RFC 4180, times in UTC), oldest first, with the balance after each entry. Entries of the kinds `receivable`, `write_off` and `recovery` change the debt, and the operator pays those of the kind `fee`. The amount of all four is 0.00. The columns contain everything that the SDK's `verifyStatement` needs to recompute the digests of closed hours. A search in flight is later charged as of the time it was sent, so a later export can contain additional lines for the last minute of this one.",
    query: {
      from: Type.String({
        description: "Start day or time. A search counts at the time it was sent. Default: 30 days before `to`.",
      }),
      to: Type.String({ description: "End day or time, exclusive. Default: now." }),
    },
    answer: "text/csv",
    problems: ["invalid_request", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await dependencies.guard(request, reply, "wallet:read");
      const range = readExportQuery(request.query);
      const lines = await exportEntries(dependencies.tenant, walletId, range).catch(unavailable);
      const day = (moment: Date): string => moment.toISOString().slice(0, 10);
      reply.header("content-type", "text/csv; charset=utf-8; header=present");
      reply.header("content-disposition", `attachment; filename="entries-${day(range.from)}-to-${day(range.to)}.csv"`);
      return lines;
    },
  };
}

function readExportQuery(query: unknown): { from: Date; to: Date } {
  const given = readQuery(query, { from: dayOrTime, to: dayOrTime });
  const to = given.to ?? new Date();
  const from = given.from ?? new Date(Math.max(0, to.getTime() - 30 * 86_400_000));
  if (from >= to) throw invalidParameter("from", "must be before `to`");
  return { from, to };
}
