import type { ServerConfig } from "../config/config.ts";
import type { Oidc } from "../console/oidc.ts";
import { deriveRepeatKey } from "../dialects/derive-headers.ts";
import { readCredential } from "../http/input/credentials.ts";
import type { Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { sendRequest } from "../keys/budget-request-routes.ts";
import type { Keys, OnFound, Principal } from "../keys/keys.ts";
import { readOwnKeys } from "../keys/manage-keys.ts";
import { networkOf } from "../lib/network-of.ts";
import type { Admission } from "../limits/admission.ts";
import { type AcquireSlot, limitWallet } from "../limits/request-limits.ts";
import { type McpSearch, mcpRoutes } from "../mcp/mcp.ts";
import { createOauth, isJwt, type Oauth } from "../oauth/oauth.ts";
import { exceededLimitOf } from "../problems/exceeded-limit.ts";
import { Problem } from "../problems/problems.ts";
import { outcomeOf } from "../search/outcome-of.ts";
import { type SearchInput, searchRequestSchema } from "../search/parse-search.ts";
import type { SearchRunner } from "../search/run-search.ts";
import type { SearchAnswer, SearchDependencies, SearchRequest } from "../search/search.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { type BudgetOfKey, type BudgetState, type KeyBudget, limitOf, readWallet } from "../wallet/wallet.ts";
import type { Connections } from "./connections.ts";

export interface McpAppDependencies {
  config: ServerConfig;
  connections: Pick<Connections, "tenantPool" | "peoplePool">;
  keys: Keys;
  oidc: Oidc | undefined;
  acquireSlot: AcquireSlot;
  admission: Pick<Admission, "enter" | "enterOrWait">;
  search: Pick<SearchDependencies, "hold" | "rank">;
  runner: SearchRunner;
  metrics: Pick<Metrics, "countRejected">;
}

const loopback = ["localhost", "127.0.0.1", "[::1]"];

export function createMcpRoutes(dependencies: McpAppDependencies): Route[] {
  const { config, connections, keys, acquireSlot, admission } = dependencies;
  const oauth = openOauth(dependencies);
  const routes = mcpRoutes({
    allowedHosts: [new URL(config.publicUrl).hostname, ...loopback, ...config.mcpHosts],
    searchBody: searchRequestSchema,
    authenticate: ({ raw, ip }, onFound) => authenticate(raw.rawHeaders, ip, { keys, oauth, onFound }),
    recordRefusal: ({ id }, caller, error) =>
      dependencies.runner.recordRefusal({ id, caller, transport: "mcp" }, error),
    recordRejected: dependencies.runner.recordRejected,
    enter: ({ mode, walletId }) => admission.enter(mode === "test" ? "tests" : "callers", walletId),
    async limitRequest({ walletId }, reply) {
      await limitWallet({ acquireSlot, admission }, walletId, reply);
    },
    runSearch: (call) => runSearch(dependencies, call),
    readBalance: (caller) => readBalance(connections, caller),
    requestBudget: (caller, request) => sendRequest(connections.tenantPool, caller, request),
  });
  return [...routes, ...(oauth?.routes ?? [])];
}

/** Undefined if people cannot sign in through an OpenID Connect provider. */
function openOauth({ config, connections, keys, admission, oidc }: McpAppDependencies): Oauth | undefined {
  const { publicUrl, oidcIssuer: issuer } = config;
  const { peoplePool: people } = connections;
  if (!oidc || issuer === undefined || !people) return undefined;
  return createOauth({
    publicUrl,
    issuer,
    readKeySource: () => oidc.readKeySource(),
    people,
    keys,
    enterLookUp: (address) => admission.enterOrWait("lookUps", networkOf(address)),
  });
}

async function authenticate(
  rawHeaders: readonly string[],
  ip: string,
  { keys, oauth, onFound }: { keys: Keys; oauth: Oauth | undefined; onFound: OnFound },
): Promise<Principal> {
  try {
    const credential = readCredential(rawHeaders);
    return await (oauth && isJwt(credential)
      ? oauth.authenticate(credential, ip, onFound)
      : keys.authenticate(credential, ip, "search", onFound));
  } catch (error) {
    oauth?.addMetadata(error);
    throw error;
  }
}

/** The paid search of a tool call. Differs from POST /v1/search only in the form of its request and response. */
async function runSearch(
  { runner, search: { hold, rank }, metrics }: McpAppDependencies,
  call: McpSearch,
): Promise<SearchAnswer> {
  const { request, reply, caller, signal, onHold, onProgress } = call;
  let outcome = "ok";
  try {
    return await runner.run({
      request,
      reply,
      transport: "mcp",
      signal,
      readInput: async () => readInput(call),
      replace: {
        authenticate: async () => caller,
        async hold(...holding) {
          const held = await hold(...holding);
          onHold(held.budgets ?? []);
          if (held.outcome === "held") onProgress(1, "Price held, querying the web");
          return held;
        },
        rank(...ranking) {
          onProgress(2, "Ranking the results");
          return rank(...ranking);
        },
      },
    });
  } catch (error) {
    // The response is a tool result with status 200.
    const exceeded = error instanceof Problem ? exceededLimitOf(error) : undefined;
    if (exceeded) metrics.countRejected(exceeded);
    outcome = outcomeOf(error);
    throw error;
  } finally {
    request.log.info({ tool: "web_search", outcome, ...request.logFields }, "tool call completed");
  }
}

function readInput(call: McpSearch): { body: Buffer; headers: SearchRequest["headers"] } {
  const body = call.readBody();
  const sent = call.request.raw.headers as SearchRequest["headers"];
  const headers = {
    "search-run": call.run,
    "search-for": sent["search-for"],
    "idempotency-key": findRepeatKey(call, body) ?? sent["idempotency-key"],
  };
  return { body, headers };
}

/**
 * The Idempotency-Key if the key has `compat.repeat`. It replaces the one of the request, because @pennyblack/mcp sends a
 * random one with every call.
 */
function findRepeatKey({ request, caller }: McpSearch, body: Buffer): string | undefined {
  const { repeatSeconds } = caller.compat ?? {};
  if (repeatSeconds === undefined) return undefined;
  const { query, n = 10, category } = JSON.parse(body.toString()) as Partial<SearchInput>;
  // `search()` rejects a body without a query.
  if (typeof query !== "string") return undefined;
  const key = readCredential(request.raw.rawHeaders);
  const search = { query, n, ...(category && { category }) };
  return deriveRepeatKey({ search, sources: caller.sources, key, now: Date.now() }, repeatSeconds);
}

async function readBalance(
  { tenantPool }: McpAppDependencies["connections"],
  { walletId, keyId }: Principal,
): ReturnType<Parameters<typeof mcpRoutes>[0]["readBalance"]> {
  const [wallet, [key]] = await Promise.all([
    readWallet(tenantPool, walletId),
    readOwnKeys(tenantPool, walletId, { id: keyId }),
  ]).catch(unavailable);
  if (!wallet || !key) throw new Problem("api_key_invalid");
  return { balance: wallet.balance, budgets: [...describeLimits(key.budget), ...describeShared(key.sharedBudgets)] };
}

function describeLimits(budget: KeyBudget | undefined): BudgetState[] {
  if (!budget) return [];
  const { totalLimit, totalSpent, dayLimit, daySpent, dayResetsAt, monthLimit, monthSpent, monthResetsAt } = budget;
  const limits: (Omit<BudgetState, "max"> & { max: BudgetState["max"] | null })[] = [
    { limit: "total", max: totalLimit, spent: totalSpent, resetsAt: null },
    { limit: "day", max: dayLimit, spent: daySpent, resetsAt: dayResetsAt },
    { limit: "month", max: monthLimit, spent: monthSpent, resetsAt: monthResetsAt },
  ];
  return limits.filter((limit): limit is BudgetState => limit.max !== null);
}

/** Without those per end user, because the caller names none. */
function describeShared(budgets: readonly BudgetOfKey[]): BudgetState[] {
  return budgets.flatMap((budget) => {
    const { id, period, spent, resetsAt } = budget;
    return spent === null ? [] : [{ limit: period, budgetId: id, max: limitOf(budget), spent, resetsAt }];
  });
}
