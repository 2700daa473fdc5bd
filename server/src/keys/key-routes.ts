import pg from "pg";
import type { Actor } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import { isFinal } from "../db/settle-batch.ts";
import { externalIdFault } from "../http/input/external-id.ts";
import { fieldFault, invalidInput } from "../http/input/faults.ts";
import { paginate } from "../http/input/paginate.ts";
import { noSuchResource, readPathId } from "../http/input/path-id.ts";
import { pageQuery, readQuery, toCursor } from "../http/input/query-parameters.ts";
import { jsonReader } from "../http/input/read-json.ts";
import { bodyProblems, managementProblems, pageParameters, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import type { MaxOnlyDomains } from "../lib/source-policy.ts";
import { Problem } from "../problems/problems.ts";
import {
  budgetsRule,
  findSpendingLimits,
  keyChangesSchema,
  networkRule,
  newKeySchema,
  readKeyChanges,
  readNewKey,
  rotationSchema,
} from "./key-body.ts";
import type { Pepper } from "./key-format.ts";
import { keyResource } from "./key-resource.ts";
import { type Guard, insufficientScope, missingScopes } from "./keys.ts";
import {
  changeOwnKey,
  createOwnKey,
  type KeyFields,
  type KeyOutcome,
  type KeyWithBudget,
  readOwnKeys,
  revokeOwnKey,
  rotateOwnKey,
} from "./manage-keys.ts";
import { describeExcess } from "./restrictions.ts";
import { findMissingScopes, type Scope } from "./scopes.ts";
import {
  createdKeySchema,
  currentKeySchema,
  keySchema,
  keysSchema,
  type SharedLimits,
  serializeCurrentKey,
  serializeKey,
} from "./serialize-key.ts";

export interface KeyRouteDependencies {
  tenant: Pool;
  guard: Guard;
  /** For the digests of new keys. */
  pepper: Pepper;
  /** The limits that all live keys, and all test keys, of a wallet share. */
  sharedLimits: Record<"live" | "test", SharedLimits>;
  /** Of the configured upstreams. */
  maxOnlyDomains: () => MaxOnlyDomains;
}

export function keyRoutes(dependencies: KeyRouteDependencies): Route[] {
  return [
    readCurrent(dependencies),
    list(dependencies),
    read(dependencies),
    create(dependencies),
    change(dependencies),
    rotate(dependencies),
    revoke(dependencies),
  ];
}

function readCurrent({ tenant, guard, sharedLimits }: KeyRouteDependencies): Route {
  return {
    method: "GET",
    path: "/v1/key",
    scope: "any",
    operationId: "getCurrentKey",
    tag: "Keys",
    summary: "Get the current key",
    description:
      "Returns the key of this request, with its permissions, budget and effective limits. Works with every key.",
    answer: currentKeySchema,
    problems: [...managementProblems],
    handle: async (request, reply) => {
      const { walletId, keyId } = await guard(request, reply, "any");
      return serializeCurrentKey(await readOne(tenant, walletId, keyId), sharedLimits);
    },
  };
}

function list({ tenant, guard }: KeyRouteDependencies): Route {
  return {
    method: "GET",
    path: "/v1/keys",
    scope: "keys:read",
    operationId: "listKeys",
    tag: "Keys",
    summary: "List keys",
    description: "Returns the wallet's keys, newest first, including revoked and expired ones.",
    query: pageParameters,
    answer: keysSchema,
    problems: ["invalid_request", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await guard(request, reply, "keys:read");
      const { cursor: before, limit } = readQuery(request.query, pageQuery);
      const found = await readOwnKeys(tenant, walletId, { before, limit: limit + 1 }).catch(unavailable);
      const { rows, nextCursor } = paginate(found, limit, (last) => toCursor(last.id));
      return { keys: rows.map(serializeKey), next_cursor: nextCursor };
    },
  };
}

function read({ tenant, guard }: KeyRouteDependencies): Route {
  return {
    method: "GET",
    path: "/v1/keys/:id",
    scope: "keys:read",
    operationId: "getKey",
    tag: "Keys",
    summary: "Get a key",
    description: "Returns a key's permissions, limits and spending. The key itself is never returned again.",
    answer: keySchema,
    problems: ["not_found", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await guard(request, reply, "keys:read");
      return serializeKey(await readOne(tenant, walletId, readId(request.params)));
    },
  };
}

function create({ tenant, guard, pepper, maxOnlyDomains }: KeyRouteDependencies): Route {
  const readBody = jsonReader(newKeySchema);
  return {
    method: "POST",
    path: "/v1/keys",
    scope: "keys:write",
    operationId: "createKey",
    tag: "Keys",
    summary: "Create a key",
    description:
      "Returns the key itself, which no later response contains. If the response is lost, revoke the key by its id and create another. A key cannot grant a scope it does not have, except `search` and `budgets:request`. Any key with `keys:write` can therefore create keys that search and spend. If your key has `allowed_ips` or `expires_at`, a new management key has the same unless you send narrower ones.",
    requestBody: newKeySchema,
    answer: createdKeySchema,
    problems: ["key_limit_reached", ...bodyProblems, ...managementProblems],
    handle: async (request, reply) => {
      const manager = await guard(request, reply, "keys:write");
      const body = await readBody(request.raw);
      const fields = readNewKey(body, manager.scopes, maxOnlyDomains());
      checkGrantedScopes(manager.scopes, fields.scopes);
      const created = await createOwnKey(tenant, manager, { mode: body.mode, pepper, fields }).catch(toProblem);
      await throwUnlessDone(tenant, manager, created.outcome);
      return { ...serializeKey(await readOne(tenant, manager.walletId, created.id)), key: created.key };
    },
  };
}

function change({ tenant, guard, maxOnlyDomains }: KeyRouteDependencies): Route {
  const readBody = jsonReader(keyChangesSchema);
  return {
    method: "PATCH",
    path: "/v1/keys/:id",
    scope: "keys:write",
    operationId: "updateKey",
    tag: "Keys",
    summary: "Update a key",
    description:
      "Omitted fields stay unchanged. Changing the limits of a budget does not reset the amount spent. Removing all limits removes the budget, and a new one starts at zero. A new budget or expiry applies to every search that starts after the response. Other limits apply within a second.",
    requestBody: keyChangesSchema,
    answer: keySchema,
    problems: ["not_found", "key_not_active", ...bodyProblems, ...managementProblems],
    handle: async (request, reply) => {
      const manager = await guard(request, reply, "keys:write");
      const id = readId(request.params);
      const body = await readBody(request.raw);
      const isTest = body.sources?.only && (await readOne(tenant, manager.walletId, id)).mode === "test";
      const changes = readKeyChanges(body, isTest ? undefined : maxOnlyDomains());
      const outcome = await changeOwnKey(tenant, manager, id, changes).catch(toProblem);
      await throwUnlessDone(tenant, manager, outcome, changes);
      return serializeKey(await readOne(tenant, manager.walletId, id));
    },
  };
}

function rotate({ tenant, guard, pepper }: KeyRouteDependencies): Route {
  const readBody = jsonReader(rotationSchema);
  return {
    method: "POST",
    path: "/v1/keys/:id/rotate",
    scope: "keys:write",
    operationId: "rotateKey",
    tag: "Keys",
    summary: "Rotate a key",
    description:
      "Creates a key with the same name, scopes, limits, budget and expiry, and returns it. No later response contains it. The old key keeps working for `grace_seconds`, shares the budget, and then expires. A key can be rotated once. After that, rotate the new key.",
    requestBody: rotationSchema,
    answer: createdKeySchema,
    problems: ["not_found", "key_not_active", "key_limit_reached", ...bodyProblems, ...managementProblems],
    handle: async (request, reply) => {
      const manager = await guard(request, reply, "keys:write");
      const id = readId(request.params);
      const { grace_seconds: graceSeconds } = await readBody(request.raw);
      const old = await readOne(tenant, manager.walletId, id);
      checkGrantedScopes(manager.scopes, old.scopes);
      const created = await rotateOwnKey(tenant, manager, { id, mode: old.mode, graceSeconds, pepper }).catch(
        toProblem,
      );
      await throwUnlessDone(tenant, manager, created.outcome);
      return { ...serializeKey(await readOne(tenant, manager.walletId, created.id)), key: created.key };
    },
  };
}

function revoke({ tenant, guard }: KeyRouteDependencies): Route {
  return {
    method: "DELETE",
    path: "/v1/keys/:id",
    scope: "keys:write",
    operationId: "revokeKey",
    tag: "Keys",
    summary: "Revoke a key",
    description:
      "Permanent and idempotent. No search that starts after the response can spend with the key. A key can revoke itself.",
    answer: keySchema,
    problems: ["not_found", ...managementProblems],
    handle: async (request, reply) => {
      const manager = await guard(request, reply, "keys:write");
      const id = readId(request.params);
      await throwUnlessDone(tenant, manager, await revokeOwnKey(tenant, manager, id).catch(toProblem));
      return serializeKey(await readOne(tenant, manager.walletId, id));
    },
  };
}

function readId(params: unknown): string {
  return readPathId(params, keyResource);
}

async function readOne(tenant: Pool, walletId: string, id: string): Promise<KeyWithBudget> {
  const [key] = await readOwnKeys(tenant, walletId, { id }).catch(unavailable);
  if (!key) throw noSuchResource(keyResource);
  return key;
}

function checkGrantedScopes(own: readonly Scope[], granted: readonly Scope[]): void {
  const missing = findMissingScopes(own, granted);
  if (missing.length === 0) return;
  const names = missing.map((scope) => `\`${scope}\``).join(", ");
  const detail = `This key cannot grant scopes it does not have: ${names}. No changes were made. Use a key that has them.`;
  throw missingScopes(missing, { detail });
}

async function throwUnlessDone(
  tenant: Pool,
  manager: Actor,
  outcome: KeyOutcome,
  changes: KeyFields = {},
): Promise<void> {
  if (outcome === "done") return;
  if (outcome === "not_found") throw noSuchResource(keyResource);
  if (outcome === "budget_without_spending") throw invalidInput(findSpendingLimits(changes));
  if (outcome === "unknown_budget") throw invalidInput([fieldFault("budgets", budgetsRule)]);
  if (outcome === "external_id_taken") throw invalidInput([externalIdFault("another key of this mode")]);
  if (outcome === "insufficient_scope") throw insufficientScope("keys:write", "mgmt");
  if (outcome === "allowed_ips_too_wide" || outcome === "expires_at_too_wide" || outcome === "has_fewer_restrictions")
    throw describeExcess(outcome, await readOne(tenant, manager.walletId, manager.keyId));
  throw new Problem(outcome);
}

/** After a connection failure, the change may or may not have been committed. */
function toProblem(cause: unknown): never {
  const isInvalidNetwork = cause instanceof pg.DatabaseError && cause.code === "22P02";
  if (isInvalidNetwork) throw invalidInput([fieldFault("allowed_ips", networkRule)]);
  if (isFinal(cause)) throw cause;
  throw new Problem("ledger_unavailable", {
    detail:
      "The database did not respond in time. The change may have been made. Check the wallet's keys before you retry.",
    cause,
  });
}
