import { type Static, Type } from "typebox";
import { type Actor, asTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import { isFinal } from "../db/settle-batch.ts";
import { findAmountFaults } from "../http/input/budget-amount.ts";
import { externalId, externalIdFault } from "../http/input/external-id.ts";
import { type Fault, fieldFault, invalidInput } from "../http/input/faults.ts";
import { paginate } from "../http/input/paginate.ts";
import { noSuchResource, readPathId } from "../http/input/path-id.ts";
import { pageQuery, readQuery, toCursor } from "../http/input/query-parameters.ts";
import { jsonReader } from "../http/input/read-json.ts";
import { textPatterns } from "../http/input/text-patterns.ts";
import { bodyProblems, managementProblems, pageParameters, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { type Micros, parseUsd } from "../lib/money.ts";
import { Problem } from "../problems/problems.ts";
import {
  archiveBudget,
  type BudgetOutcome,
  changeBudget,
  createBudget,
  readBudgetKeys,
  readSharedBudgets,
  type SharedBudget,
} from "../wallet/wallet.ts";
import { type Guard, insufficientScope } from "./keys.ts";
import { budgetSchema, budgetsSchema, serializeBudget } from "./serialize-budget.ts";

export interface BudgetRouteDependencies {
  tenant: Pool;
  guard: Guard;
}

export const budgetResource = { name: "shared budget", list: "GET /v1/budgets" };

const changeable = {
  name: Type.String({
    minLength: 1,
    maxLength: 100,
    pattern: textPatterns.visible,
    description: "A name of your choice. A search that the budget refuses returns it.",
  }),
  amount: Type.String({ pattern: textPatterns.usd, description: "USD as a decimal string, at least 0.01." }),
  alerts: Type.Optional(
    Type.Array(Type.Integer({ minimum: 1, maximum: 99 }), {
      maxItems: 5,
      uniqueItems: true,
      description:
        "Percentages of the amount at which you are warned, at most once each per period. Default: 80 and 95, and none per end user.",
    }),
  ),
  external_id: Type.Optional(externalId("budgets of a mode that are not archived")),
};

const newBudgetSchema = Type.Object(
  {
    mode: Type.Enum(["live", "test"], {
      description: "The mode of its keys. A budget of test keys counts play money.",
    }),
    ...changeable,
    period: Type.Enum(["total", "day", "week", "month"], {
      description: "`total` does not reset. Days, ISO weeks (from Monday) and months are in UTC. It cannot be changed.",
    }),
    per: Type.Optional(
      Type.Enum(["wallet", "end_user"], {
        description:
          "`wallet`: all searches of its keys share the amount. `end_user`: each end user in `Search-For` has the amount, and `period` cannot be `total`. It cannot be changed. Default: `wallet`.",
      }),
    ),
  },
  { additionalProperties: false, title: "CreateBudgetRequest" },
);

const changesSchema = Type.Object(
  {
    name: Type.Optional(changeable.name),
    amount: Type.Optional(changeable.amount),
    alerts: changeable.alerts,
    external_id: changeable.external_id,
  },
  { additionalProperties: false, minProperties: 1, title: "UpdateBudgetRequest" },
);

export function budgetRoutes(dependencies: BudgetRouteDependencies): Route[] {
  return [list(dependencies), create(dependencies), read(dependencies), change(dependencies), archive(dependencies)];
}

function list({ tenant, guard }: BudgetRouteDependencies): Route {
  return {
    method: "GET",
    path: "/v1/budgets",
    scope: "keys:read",
    operationId: "listBudgets",
    tag: "Budgets",
    summary: "List shared budgets",
    description: "Returns the wallet's shared budgets with their spending, newest first, without archived ones.",
    query: pageParameters,
    answer: budgetsSchema,
    problems: ["invalid_request", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await guard(request, reply, "keys:read");
      const { cursor: before, limit } = readQuery(request.query, pageQuery);
      const page = { before, limit: limit + 1 };
      const found = await asTenant(tenant, walletId, (db) => readSharedBudgets(db, walletId, page)).catch(unavailable);
      const { rows, nextCursor } = paginate(found, limit, (last) => toCursor(last.id));
      return { budgets: rows.map(serializeBudget), next_cursor: nextCursor };
    },
  };
}

function create({ tenant, guard }: BudgetRouteDependencies): Route {
  const readBody = jsonReader(newBudgetSchema);
  return {
    method: "POST",
    path: "/v1/budgets",
    scope: "keys:write",
    operationId: "createBudget",
    tag: "Budgets",
    summary: "Create a shared budget",
    description:
      "Keys spend from it once they name it in `budgets`. A search must fit into every budget of its key, its end user and its run. A wallet can have 1,000 shared budgets.",
    requestBody: newBudgetSchema,
    answer: budgetSchema,
    problems: ["budget_limit_reached", ...bodyProblems, ...managementProblems],
    handle: async (request, reply) => {
      const by = await guard(request, reply, "keys:write");
      const { mode, period, per = "wallet", ...rest } = await readBody(request.raw);
      const isPerEndUser = per === "end_user";
      const faults = isPerEndUser && period === "total" ? [fieldFault("period", endUserPeriodRule)] : [];
      const fields = readFields(rest, faults, isPerEndUser);
      const { name = "", amount = 0n, alerts = isPerEndUser ? [] : [80, 95], externalId: ownId = null } = fields;
      const budget = { mode, period, isPerEndUser, name, amount, alerts, externalId: ownId };
      const { outcome, id } = await createBudget(tenant, by, budget).catch(toProblem);
      await throwUnlessDone(tenant, by, id, outcome);
      return serializeBudget(await readOne(tenant, by.walletId, id));
    },
  };
}

function read({ tenant, guard }: BudgetRouteDependencies): Route {
  return {
    method: "GET",
    path: "/v1/budgets/:id",
    scope: "keys:read",
    operationId: "getBudget",
    tag: "Budgets",
    summary: "Get a shared budget",
    description: "Returns a budget with its spending. An archived one can be read for at least an hour.",
    answer: budgetSchema,
    problems: ["not_found", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await guard(request, reply, "keys:read");
      return serializeBudget(await readOne(tenant, walletId, readPathId(request.params, budgetResource)));
    },
  };
}

function change({ tenant, guard }: BudgetRouteDependencies): Route {
  const readBody = jsonReader(changesSchema);
  return {
    method: "PATCH",
    path: "/v1/budgets/:id",
    scope: "keys:write",
    operationId: "updateBudget",
    tag: "Budgets",
    summary: "Update a shared budget",
    description:
      "Omitted fields stay unchanged. A new amount applies to the current period and to every search that starts after the response; what was spent stays. `period` and `per` cannot be changed: create another budget.",
    requestBody: changesSchema,
    answer: budgetSchema,
    problems: ["not_found", ...bodyProblems, ...managementProblems],
    handle: async (request, reply) => {
      const by = await guard(request, reply, "keys:write");
      const id = readPathId(request.params, budgetResource);
      const changes = readFields(await readBody(request.raw), []);
      await throwUnlessDone(tenant, by, id, await changeBudget(tenant, by, id, changes).catch(toProblem));
      return serializeBudget(await readOne(tenant, by.walletId, id));
    },
  };
}

function archive({ tenant, guard }: BudgetRouteDependencies): Route {
  return {
    method: "DELETE",
    path: "/v1/budgets/:id",
    scope: "keys:write",
    operationId: "archiveBudget",
    tag: "Budgets",
    summary: "Archive a shared budget",
    description:
      "Permanent and idempotent. A budget that a key names cannot be archived: first remove it from the key's `budgets`, or revoke the key.",
    answer: budgetSchema,
    problems: ["not_found", "budget_in_use", ...managementProblems],
    handle: async (request, reply) => {
      const by = await guard(request, reply, "keys:write");
      const id = readPathId(request.params, budgetResource);
      await throwUnlessDone(tenant, by, id, await archiveBudget(tenant, by, id).catch(toProblem));
      return serializeBudget(await readOne(tenant, by.walletId, id));
    },
  };
}

const endUserPeriodRule = "must be `day`, `week` or `month` for a budget per end user";
const noAlertsRule = "must be empty for a budget per end user: each end user has an amount of their own";

interface Fields {
  name?: string;
  amount?: Micros;
  alerts?: number[];
  externalId?: string | null;
}

function readFields(body: Static<typeof changesSchema>, faults: Fault[], isPerEndUser = false): Fields {
  const { name, amount, alerts, external_id: ownId } = body;
  faults.push(...findAmountFaults("amount", amount));
  if (isPerEndUser && alerts?.length) faults.push(fieldFault("alerts", noAlertsRule));
  if (faults.length > 0) throw invalidInput(faults);
  return {
    ...(name !== undefined && { name }),
    ...(amount !== undefined && { amount: parseUsd(amount) ?? 0n }),
    ...(alerts && { alerts: alerts.toSorted((a, b) => a - b) }),
    ...(ownId !== undefined && { externalId: ownId }),
  };
}

async function readOne(tenant: Pool, walletId: string, id: string): Promise<SharedBudget> {
  const [budget] = await asTenant(tenant, walletId, (db) => readSharedBudgets(db, walletId, { id })).catch(unavailable);
  if (!budget) throw noSuchResource(budgetResource);
  return budget;
}

async function throwUnlessDone(tenant: Pool, by: Actor, id: string, outcome: BudgetOutcome): Promise<void> {
  if (outcome === "done") return;
  if (outcome === "not_found") throw noSuchResource(budgetResource);
  if (outcome === "alerts_per_end_user") throw invalidInput([fieldFault("alerts", noAlertsRule)]);
  if (outcome === "external_id_taken") throw invalidInput([externalIdFault("another budget of this mode")]);
  if (outcome === "insufficient_scope") throw insufficientScope("keys:write", "mgmt");
  if (outcome !== "budget_in_use") throw new Problem(outcome);
  const keys = await asTenant(tenant, by.walletId, (db) => readBudgetKeys(db, by.walletId, id)).catch(unavailable);
  throw new Problem("budget_in_use", { members: { keys } });
}

/** After a connection failure, the change may or may not have been committed. */
function toProblem(cause: unknown): never {
  if (isFinal(cause)) throw cause;
  throw new Problem("ledger_unavailable", {
    detail:
      "The database did not respond in time. The change may have been made. Check the wallet's budgets before you retry.",
    cause,
  });
}
