import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { isUuid } from "../http/query-parameters.ts";
import { jsonReader } from "../http/read-json.ts";
import type { Route } from "../http/route.ts";
import { Problem } from "../problems.ts";
import { type ConsoleParts, consoleRoute, walletPath } from "./console-parts.ts";
import { enterWallet } from "./enter-console.ts";
import { invalidField } from "./sign-in-routes.ts";

// A search from the console: the same as POST /v1/search with the chosen key, but for how the caller is known. Its rate,
// budget, hold and capture are the key's.

const readBody = jsonReader(
  Type.Object(
    {
      key_id: Type.String({ maxLength: 36 }),
      explain: Type.Optional(Type.Boolean()),
      // The search itself says what is wrong with these, in the words of /v1/search.
      query: Type.Optional(Type.Unknown()),
      n: Type.Optional(Type.Unknown()),
      category: Type.Optional(Type.Unknown()),
    },
    { additionalProperties: false },
  ),
);

export function playgroundRoute(parts: ConsoleParts): Route {
  const handle = (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => play(parts, request, reply);
  return consoleRoute({ method: "POST", path: `${walletPath}/playground/search`, handle });
}

async function play(parts: ConsoleParts, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { walletId, role } = await enterWallet(parts, request, reply);
  const { key_id: keyId, explain = false, ...body } = await readBody(request.raw);
  if (!isUuid(keyId)) throw invalidField("key_id", "must be the id of a key of the wallet");
  const caller = await parts.findCaller({ walletId, keyId, ip: request.ip });
  if (role === "viewer" && caller.mode !== "test") {
    throw new Problem("insufficient_role", {
      detail: "A viewer searches with test keys only. Nothing was charged. Choose a test key or ask an owner.",
    });
  }
  return parts.runSearch(request, reply, { caller, body, isExplained: explain });
}
