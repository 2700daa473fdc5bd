import pg from "pg";
import { Type } from "typebox";
import { isDefinite } from "../db/lane.ts";
import type { Pool } from "../db/pool.ts";
import { cutPage } from "../http/cut-page.ts";
import { isUuid, readCursor, readLimit, readParameters, toCursor } from "../http/query-parameters.ts";
import { invalidInput, jsonReader } from "../http/read-json.ts";
import { managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { Problem, type ProblemCode } from "../problems.ts";
import {
  budgetWithoutSpending,
  invalid,
  keyChangesSchema,
  networkRule,
  newKeySchema,
  readKeyChanges,
  readNewKey,
  rotationSchema,
} from "./key-body.ts";
import type { Pepper } from "./key-format.ts";
import type { Enter } from "./keys.ts";
import {
  changeOwnKey,
  createOwnKey,
  type KeyOutcome,
  type KeyWithBudget,
  readOwnKeys,
  revokeOwnKey,
  rotateOwnKey,
} from "./own-keys.ts";
import { type Scope, scopeToHandOn } from "./scopes.ts";
import { keySchema, keysSchema, madeKeySchema, showKey } from "./show-key.ts";

export interface KeyRouteParts {
  tenant: Pool;
  enter: Enter;
  /** New keys are made under it. */
  pepper: Pepper;
}

const bodyProblems: ProblemCode[] = [
  "malformed_json",
  "invalid_request",
  "payload_too_large",
  "unsupported_media_type",
];

export function keyRoutes(parts: KeyRouteParts): Route[] {
  return [aboutThisKey(parts), list(parts), show(parts), create(parts), change(parts), rotate(parts), revoke(parts)];
}

function aboutThisKey({ tenant, enter }: KeyRouteParts): Route {
  return {
    method: "GET",
    path: "/v1/key",
    scope: "any",
    summary: "Read the key that asks",
    description: "What the key of this request is and may do, for keys of every mode.",
    answer: keySchema,
    problems: [...managementProblems],
    handle: async (request, reply) => {
      const { walletId, keyId } = await enter(request, reply, "any");
      return showKey(await readOne(tenant, walletId, keyId));
    },
  };
}

function list({ tenant, enter }: KeyRouteParts): Route {
  return {
    method: "GET",
    path: "/v1/keys",
    scope: "keys:write",
    summary: "List the wallet's keys",
    description: "Newest first, with those that are revoked or expired.",
    query: {
      cursor: Type.String({ description: "From `next_cursor` of the page before." }),
      limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
    },
    answer: keysSchema,
    problems: ["invalid_request", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await enter(request, reply, "keys:write");
      const { cursor, limit } = readParameters(request.query, ["cursor", "limit"]);
      const before = readCursor(cursor);
      const most = readLimit(limit, { usual: 50, most: 100 });
      // One more than asked for tells whether there is a next page.
      const found = await readOwnKeys(tenant, walletId, { before, most: most + 1 }).catch(unavailable);
      const { rows, nextCursor } = cutPage(found, most, (last) => toCursor(last.id));
      return { keys: rows.map(showKey), next_cursor: nextCursor };
    },
  };
}

function show({ tenant, enter }: KeyRouteParts): Route {
  return {
    method: "GET",
    path: "/v1/keys/:id",
    scope: "keys:write",
    summary: "Read a key",
    description: "What it may do and has spent. The key itself is never shown again.",
    answer: keySchema,
    problems: ["not_found", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await enter(request, reply, "keys:write");
      return showKey(await readOne(tenant, walletId, readId(request.params)));
    },
  };
}

function create({ tenant, enter, pepper }: KeyRouteParts): Route {
  const readBody = jsonReader(newKeySchema);
  return {
    method: "POST",
    path: "/v1/keys",
    scope: "keys:write",
    summary: "Make a key",
    description:
      "The answer shows the key this once. If it is lost on the way, revoke the key by its id and make another. A key cannot hand on a scope that it does not have; every management key may make keys that search.",
    requestBody: newKeySchema,
    answer: madeKeySchema,
    problems: ["key_limit_reached", ...bodyProblems, ...managementProblems],
    handle: async (request, reply) => {
      const manager = await enter(request, reply, "keys:write");
      const body = await readBody(request.raw);
      const wanted = readNewKey(body, manager.scopes);
      refuseToHandOn(manager.scopes, wanted.scopes);
      const made = await createOwnKey(tenant, manager, { mode: body.mode, pepper, parts: wanted }).catch(explain);
      refuseUnlessDone(made.outcome);
      return { ...showKey(await readOne(tenant, manager.walletId, made.id)), key: made.key };
    },
  };
}

function change({ tenant, enter }: KeyRouteParts): Route {
  const readBody = jsonReader(keyChangesSchema);
  return {
    method: "PATCH",
    path: "/v1/keys/:id",
    scope: "keys:write",
    summary: "Change a key",
    description:
      "What is left out stays as it is. A budget counts on when its limits change; one without a limit left is removed, and a new one begins at zero. Searches that begin after the answer follow the new budget and expiry; the other limits follow within a second.",
    requestBody: keyChangesSchema,
    answer: keySchema,
    problems: ["not_found", "key_not_active", ...bodyProblems, ...managementProblems],
    handle: async (request, reply) => {
      const manager = await enter(request, reply, "keys:write");
      const id = readId(request.params);
      const changes = readKeyChanges(await readBody(request.raw));
      refuseUnlessDone(await changeOwnKey(tenant, manager, id, changes).catch(explain));
      return showKey(await readOne(tenant, manager.walletId, id));
    },
  };
}

function rotate({ tenant, enter, pepper }: KeyRouteParts): Route {
  const readBody = jsonReader(rotationSchema);
  return {
    method: "POST",
    path: "/v1/keys/:id/rotate",
    scope: "keys:write",
    summary: "Replace a key",
    description:
      "Makes a key with the same name, scopes, limits, budget and end, and shows it this once. The old key works for `grace_seconds` more, on the same budget, and then is expired. A key is rotated once; after that, rotate the new one.",
    requestBody: rotationSchema,
    answer: madeKeySchema,
    problems: ["not_found", "key_not_active", "key_limit_reached", ...bodyProblems, ...managementProblems],
    handle: async (request, reply) => {
      const manager = await enter(request, reply, "keys:write");
      const id = readId(request.params);
      const { grace_seconds: graceSeconds } = await readBody(request.raw);
      const old = await readOne(tenant, manager.walletId, id);
      refuseToHandOn(manager.scopes, old.scopes);
      const made = await rotateOwnKey(tenant, manager, { id, mode: old.mode, graceSeconds, pepper }).catch(explain);
      refuseUnlessDone(made.outcome);
      return { ...showKey(await readOne(tenant, manager.walletId, made.id)), key: made.key };
    },
  };
}

function revoke({ tenant, enter }: KeyRouteParts): Route {
  return {
    method: "DELETE",
    path: "/v1/keys/:id",
    scope: "keys:write",
    summary: "Revoke a key",
    description:
      "For good. No search that begins after the answer is charged to it. May be repeated. A key can revoke itself.",
    answer: keySchema,
    problems: ["not_found", ...managementProblems],
    handle: async (request, reply) => {
      const manager = await enter(request, reply, "keys:write");
      const id = readId(request.params);
      refuseUnlessDone(await revokeOwnKey(tenant, manager, id).catch(explain));
      return showKey(await readOne(tenant, manager.walletId, id));
    },
  };
}

function readId(params: unknown): string {
  const { id } = params as { id: string };
  if (!isUuid(id)) throw noSuchKey();
  return id;
}

async function readOne(tenant: Pool, walletId: string, id: string): Promise<KeyWithBudget> {
  const [key] = await readOwnKeys(tenant, walletId, { id }).catch(unavailable);
  if (!key) throw noSuchKey();
  return key;
}

function noSuchKey(): Problem {
  return new Problem("not_found", {
    detail: "Your wallet has no key with this id. Nothing was changed. GET /v1/keys lists those it has.",
  });
}

function refuseToHandOn(own: readonly Scope[], wanted: readonly Scope[]): void {
  const missing = scopeToHandOn(own, wanted);
  if (missing) throw lacksScope(missing);
}

function lacksScope(scope: Scope): Problem {
  return new Problem("insufficient_scope", {
    detail: "This key cannot hand on a scope that it does not have. Nothing was changed. Use a key that has it.",
    members: { required_scope: scope },
    headers: { "www-authenticate": `Bearer realm="search", error="insufficient_scope", scope="${scope}"` },
  });
}

function refuseUnlessDone(outcome: KeyOutcome): void {
  if (outcome === "done") return;
  if (outcome === "not_found") throw noSuchKey();
  if (outcome === "budget_without_spending") throw invalidInput([budgetWithoutSpending]);
  if (outcome === "insufficient_scope") throw lacksScope("keys:write");
  throw new Problem(outcome);
}

/** A change whose answer was lost may have been made. */
function explain(cause: unknown): never {
  const isNoNetwork = cause instanceof pg.DatabaseError && cause.code === "22P02";
  if (isNoNetwork) throw invalidInput([invalid("allowed_ips", networkRule)]);
  if (isDefinite(cause)) throw cause;
  throw new Problem("ledger_unavailable", {
    detail:
      "The database did not answer in time. Nothing was charged, but the change may have been made: look at the keys before you try again.",
    cause,
  });
}
