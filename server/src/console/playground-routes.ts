import { Type } from "typebox";
import { isUuid } from "../http/input/query-parameters.ts";
import { jsonReader } from "../http/input/read-json.ts";
import type { Route } from "../http/route.ts";
import { Problem } from "../problems/problems.ts";
import { apiRoutes, type ConsoleCall, type ConsoleDependencies, walletPath } from "./console-dependencies.ts";
import { guardWallet } from "./console-guard.ts";
import { invalidField } from "./sign-in-routes.ts";

// Runs a search with the chosen key, exactly like POST /v1/search except for authentication: the key's rate limit,
// budget, hold and capture apply.

const readBody = jsonReader(
  Type.Object(
    {
      key_id: Type.String({ maxLength: 36 }),
      explain: Type.Optional(Type.Boolean()),
      // Validated by the search itself, so that errors match /v1/search.
      query: Type.Optional(Type.Unknown()),
      n: Type.Optional(Type.Unknown()),
      category: Type.Optional(Type.Unknown()),
    },
    { additionalProperties: false },
  ),
);

export function playgroundRoutes(dependencies: ConsoleDependencies): Route[] {
  const routes = apiRoutes(dependencies, [["POST", `${walletPath}/playground/search`, runPlaygroundSearch]]);
  return routes.map((route) => ({ ...route, isSearch: true }));
}

async function runPlaygroundSearch(call: ConsoleCall): Promise<unknown> {
  const { dependencies, request, reply } = call;
  const { walletId, role } = await guardWallet(call);
  const { key_id: keyId, explain = false, ...body } = await readBody(request.raw);
  if (!isUuid(keyId)) throw invalidField("key_id", "must be the id of a key of the wallet");
  return dependencies.runSearch(request, reply, {
    body,
    explain,
    async authenticate(onFound) {
      const caller = await dependencies.findCaller({ walletId, keyId, ip: request.ip }, onFound);
      if (role !== "viewer" || caller.mode === "test") return caller;
      throw new Problem("insufficient_role", {
        detail: "Viewers can search only with test keys. You were not charged. Choose a test key or ask an owner.",
      });
    },
  });
}
