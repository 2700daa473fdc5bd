import type { FastifyReply, FastifyRequest } from "fastify";
import { listAccounts } from "../accounts/accounts.ts";
import type { Pool } from "../db/pool.ts";
import { isUuid } from "../http/input/query-parameters.ts";
import type { OperatorRoute } from "../http/ops-server.ts";
import type { Route } from "../http/route.ts";
import type { Guard } from "../keys/keys.ts";
import { Problem } from "../problems/problems.ts";
import { listWallets } from "../wallet/wallet.ts";
import { type ConsoleDependencies, walletPath } from "./console-dependencies.ts";
import { mountRoutes } from "./mount-routes.ts";
import { serializeTeam, type Team } from "./serialize-team.ts";

// The owner's console for operators, on the internal listener: the same pages and the same routes, but only those that read.
// Nothing is read before the view is recorded in the list of changes.

interface OperatorViewDependencies
  extends Pick<ConsoleDependencies, "readVersion" | "features" | "topUp" | "publicUrl"> {
  operatorPool: Pool;
  /** Returns false if the wallet does not exist. */
  recordView: (operator: string, walletId: string) => Promise<boolean>;
}

/** For routes that have been authorized: the internal listener has authenticated the operator. */
const guardRead: Guard = async ({ params }) => {
  const { walletId } = params as { walletId: string };
  const limits = { searchesPerSecond: 0, searchesInFlight: 0 };
  return { keyId: walletId, walletId, mode: "mgmt", scopes: ["wallet:read", "activity:read"], ...limits };
};

export function operatorViewRoutes(
  dependencies: OperatorViewDependencies,
  managementRoutes: (guard: Guard) => Route[],
): OperatorRoute[] {
  const { operatorPool, readVersion, recordView } = dependencies;
  const view = (
    path: string,
    read: (walletId: string, request: FastifyRequest, reply: FastifyReply) => unknown,
  ): OperatorRoute => ({
    method: "GET",
    path,
    async handle(request, operator, reply) {
      const { walletId } = request.params as { walletId: string };
      if (!isUuid(walletId) || !(await recordView(operator, walletId))) throw walletNotFound();
      request.logFields = { operator, wallet: walletId };
      return read(walletId, request, reply);
    },
  });
  const reads = mountRoutes(managementRoutes(guardRead)).filter(({ method }) => method === "GET");
  return [
    {
      method: "GET",
      path: "/console/api/session",
      handle: (_request, operator) => describeOperator(dependencies, operator),
    },
    view(walletPath, (walletId) => readMembership(operatorPool, walletId)),
    view(`${walletPath}/members`, (walletId) => readTeam(operatorPool, walletId)),
    view(`${walletPath}/version`, async (walletId) => ({ version: await readVersion(walletId) })),
    ...reads.map((route) => view(route.path, (_walletId, request, reply) => route.handle(request, reply))),
  ];
}

/** A session without a person. The pages ask for the wallet that they show, because an operator can see all of them. */
function describeOperator({ features, topUp, publicUrl }: OperatorViewDependencies, operator: string) {
  return {
    person: null,
    operator,
    fresh_until: null,
    wallets: [],
    sign_in: { email: false, oidc: null, sign_up: false },
    features,
    top_up: topUp,
    public_url: publicUrl,
  };
}

/** The same as for a member with the role viewer. */
async function readMembership(operatorPool: Pool, walletId: string) {
  const [wallet] = await listWallets(operatorPool, { ids: [walletId], limit: 1 });
  if (!wallet) throw walletNotFound();
  const { name, accountId, isSuspended } = wallet;
  const [account] = await listAccounts(operatorPool, { ids: [accountId], limit: 1 });
  const membership = { account_id: accountId, account_name: account?.name ?? "", role: "viewer" };
  return { id: walletId, name, ...membership, suspended: isSuspended };
}

async function readTeam(operatorPool: Pool, walletId: string) {
  const { rows } = await operatorPool.query<{ team: Team | null }>("select pb.operator_read_team($1) as team", [
    walletId,
  ]);
  const team = rows[0]?.team;
  if (!team) throw walletNotFound();
  return serializeTeam(team);
}

function walletNotFound(): Problem {
  return new Problem("not_found", { detail: "This server has no wallet with this id." });
}
