import { Type } from "typebox";
import type { Pool } from "../../db/pool.ts";
import { jsonReader } from "../../http/input/read-json.ts";
import { bodyProblems, managementProblems, type Route } from "../../http/route.ts";
import { unavailable } from "../../http/unavailable.ts";
import { readStoresPlainIds, setStoresPlainIds } from "../end-users.ts";
import type { WalletGuard } from "./wallet-guard.ts";

const settingsSchema = Type.Object(
  {
    ids: Type.Enum(["hashed", "plain"], {
      description:
        "How the ids in `Search-For` are stored: as hashes under a key of the wallet, or as they are sent. Default: `hashed`.",
    }),
  },
  { title: "EndUserSettings", additionalProperties: false },
);
const readSettings = jsonReader(settingsSchema);

export function endUserRoutes(dependencies: { tenant: Pool; guard: WalletGuard }): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/wallet/end-users",
      scope: "wallet:read",
      operationId: "getEndUserSettings",
      tag: "Wallet",
      summary: "Get the end-user settings",
      description: "Returns how the ids of end users are stored.",
      answer: settingsSchema,
      problems: [...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await dependencies.guard(request, reply, "wallet:read");
        const isPlain = await readStoresPlainIds(dependencies.tenant, walletId).catch(unavailable);
        return { ids: isPlain ? "plain" : "hashed" };
      },
    },
    {
      method: "PUT",
      path: "/v1/wallet/end-users",
      scope: "wallet:write",
      operationId: "setEndUserSettings",
      tag: "Wallet",
      summary: "Set the end-user settings",
      description:
        "Applies to later searches, within a second. Searches that are already stored do not change, and limits per end user start at zero again.",
      requestBody: settingsSchema,
      answer: settingsSchema,
      problems: [...bodyProblems, ...managementProblems],
      handle: async (request, reply) => {
        const by = await dependencies.guard(request, reply, "wallet:write");
        const { ids } = await readSettings(request.raw);
        await setStoresPlainIds(dependencies.tenant, by, ids === "plain").catch(unavailable);
        return { ids };
      },
    },
  ];
}
