import { Type } from "typebox";
import type { Pool } from "../db/pool.ts";
import { dayOrTime, readQuery } from "../http/input/query-parameters.ts";
import { managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import type { Guard } from "../keys/keys.ts";
import { Problem } from "../problems/problems.ts";
import { readProof } from "./read-proof.ts";

const sha256 = (description: string) => Type.String({ pattern: "^[0-9a-f]{64}$", description });

const placeSchema = Type.Object(
  {
    leaf_index: Type.Integer({ minimum: 0 }),
    tree_size: Type.Integer({ minimum: 1 }),
    path: Type.Array(sha256("Sibling hash"), {
      description: "The sibling hashes from the leaf to the root (RFC 6962).",
    }),
    signed: Type.String({ description: "The signed root: a compact JWS." }),
  },
  {
    title: "InclusionProof",
    description:
      "The position of a hash in a signed tree. `in_hour` is the position of the wallet's digest among the digests of all wallets with entries in this hour and of the operator's records.",
  },
);

const proofSchema = Type.Object(
  {
    wallet_id: Type.String({ format: "uuid" }),
    hour: Type.String({
      format: "date-time",
      description: "The last closed hour with entries of the wallet. An entry belongs to the hour of its `created_at`.",
    }),
    complete_until: Type.String({
      format: "date-time",
      description: "The wallet has no other entries between this hour and this time.",
    }),
    digest: sha256("The digest of all entries up to and including this hour."),
    in_hour: placeSchema,
    in_day: Type.Union([placeSchema, Type.Null()], {
      description: "The position of the hour's root in the tree of the day. Null until the day is complete.",
    }),
  },
  { title: "WalletProof" },
);

const noHour =
  "No closed hour contains an entry of this wallet yet. An hour is closed and signed about 20 minutes after its end, if the operator has configured a signing key.";

export function proofRoute({ tenant, guard }: { tenant: Pool; guard: Guard }): Route {
  return {
    method: "GET",
    path: "/v1/wallet/proof",
    scope: "wallet:read",
    operationId: "getWalletProof",
    tag: "Receipts",
    summary: "Get a proof of the wallet's entries",
    description:
      "Returns the proof that the wallet's entries are part of a signed root. The SDK's `verifyStatement` checks it together with the exported entries. Returns 404 if no closed hour contains an entry of the wallet yet.",
    query: {
      until: Type.String({ description: "Only hours that ended by this day or time. Default: now." }),
    },
    answer: proofSchema,
    problems: ["invalid_request", "not_found", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await guard(request, reply, "wallet:read");
      const { until = new Date() } = readQuery(request.query, { until: dayOrTime });
      const proof = await readProof(tenant, walletId, until).catch(unavailable);
      if (!proof) throw new Problem("not_found", { detail: noHour });
      const { hour, completeUntil, digest, inHour, inDay } = proof;
      return {
        wallet_id: walletId,
        hour,
        complete_until: completeUntil,
        digest,
        in_hour: serializePlace(inHour),
        in_day: inDay ? serializePlace(inDay) : null,
      };
    },
  };
}

function serializePlace({
  leafIndex,
  treeSize,
  path,
  signed,
}: {
  leafIndex: number;
  treeSize: number;
  path: string[];
  signed: string;
}) {
  return { leaf_index: leafIndex, tree_size: treeSize, path, signed };
}
