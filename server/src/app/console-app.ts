import { fileURLToPath } from "node:url";
import type { ServerConfig } from "../config/config.ts";
import { consoleRoutes, operatorViewRoutes } from "../console/console.ts";
import type { ConsoleDependencies } from "../console/console-dependencies.ts";
import { siteRoutes } from "../console/console-site.ts";
import { createCookie } from "../console/cookies.ts";
import { createOidc, discoverProvider, type Oidc } from "../console/oidc.ts";
import { createSignInLimits } from "../console/sign-in-limits.ts";
import type { Pool } from "../db/pool.ts";
import type { OperatorRoute } from "../http/ops-server.ts";
import type { Route } from "../http/route.ts";
import { findPrincipal } from "../keys/find-principal.ts";
import type { Guard } from "../keys/keys.ts";
import { formatUsd } from "../lib/money.ts";
import type { Secrets } from "../lib/secrets.ts";
import { type ServiceWatch, watchService } from "../lib/watch-service.ts";
import type { Admission } from "../limits/admission.ts";
import { type AcquireSlot, limitWallet, occupySlotUntilClosed } from "../limits/request-limits.ts";
import { recordView } from "../operator/operator.ts";
import type { SearchRunner } from "../search/run-search.ts";
import { readVersion } from "../wallet/wallet.ts";
import type { Connections } from "./connections.ts";

export interface ConsoleAppDependencies {
  config: ServerConfig;
  secrets: Secrets;
  connections: Connections;
  acquireSlot: AcquireSlot;
  admission: Pick<Admission, "enter">;
  runner: SearchRunner;
  recordUse: (keyId: string) => void;
  oidc: Oidc | undefined;
  /** Mounts the management routes behind the guard of the console. */
  manage: (guard: Guard) => Route[];
}

/** Per IP address, which a whole office may share. */
export const networkLimits = { kind: "network" as const, searchesPerSecond: 200, searchesInFlight: 64 };

/** Empty if sign-in is not configured. */
export function createConsoleRoutes(dependencies: ConsoleAppDependencies): Route[] {
  const { connections, manage } = dependencies;
  if (!connections.peoplePool) return [];
  const console = consoleDependencies(dependencies, connections.peoplePool);
  return [...siteRoutes(folder, "index.html"), ...consoleRoutes(console, manage)];
}

/** The output of `npm run console:build`. */
const folder = fileURLToPath(new URL("../../../console/dist", import.meta.url));

/** The pages of the internal listener: the operator console and, for the account of a customer, the owner's pages. */
export function operatorPageRoutes(): Route[] {
  return [...siteRoutes(folder, "operator.html"), ...siteRoutes(folder, "index.html", ["/console/w/*"])];
}

/** Reads of the owner's pages, for operators. Empty if no operator database is configured. */
export function createOperatorView(
  config: ServerConfig,
  { operatorPool, tenantPool }: Pick<Connections, "operatorPool" | "tenantPool">,
  manage: (guard: Guard) => Route[],
): OperatorRoute[] {
  if (!operatorPool) return [];
  const dependencies = {
    ...describeServer(config),
    operatorPool,
    readVersion: (walletId: string) => readVersion(tenantPool, walletId),
    recordView: (operator: string, walletId: string) => recordView(operatorPool, { operator }, walletId),
  };
  return operatorViewRoutes(dependencies, manage);
}

function describeServer(config: ServerConfig): Pick<ConsoleDependencies, "publicUrl" | "features" | "topUp"> {
  return {
    publicUrl: config.publicUrl,
    features: {
      payments: config.stripeSecretKey !== undefined,
      mail: config.smtpUrl !== undefined,
      topUpUrl: config.topUpUrl,
    },
    topUp: { minimum: formatUsd(config.topUpMin), maximum: formatUsd(config.topUpMax) },
  };
}

function consoleDependencies(dependencies: ConsoleAppDependencies, people: Pool): ConsoleDependencies {
  const { config, secrets, connections, acquireSlot, admission, runner, recordUse, oidc } = dependencies;
  const { publicUrl } = config;
  return {
    ...describeServer(config),
    people,
    secrets,
    cookie: createCookie("pennyblack", publicUrl),
    oidc,
    limits: createSignInLimits(connections.redis, secrets),
    limitNetwork: (network, reply) =>
      occupySlotUntilClosed(acquireSlot, { keyId: `console ${network}`, ...networkLimits }, reply),
    limitWallet: (walletId, reply) => limitWallet({ acquireSlot, admission }, walletId, reply),
    readVersion: (walletId) => readVersion(connections.tenantPool, walletId),
    isSignUpOpen: config.signUp === "open",
    async findCaller(key, onFound) {
      const caller = await findPrincipal(connections.tenantPool, key, onFound);
      recordUse(caller.keyId);
      return caller;
    },
    async runSearch(request, reply, { authenticate, body, explain }) {
      const headers = { ...(request.headers as Record<string, string>), ...(explain && { "rank-explain": "1" }) };
      const answer = await runner.run({
        request,
        reply,
        transport: "playground",
        replace: { authenticate: ({ facts }) => authenticate((found) => void (facts.caller = found)) },
        readInput: async () => ({ body: Buffer.from(JSON.stringify(body)), headers }),
      });
      reply.header("content-type", "application/json; charset=utf-8");
      return answer.body;
    },
  };
}

/** Undefined if no provider is configured. */
export function openOidc(
  { oidcIssuer: issuer, oidcClientId: clientId, ...config }: ServerConfig,
  secrets: Secrets,
): Oidc | undefined {
  if (issuer === undefined || clientId === undefined) return undefined;
  const { oidcClientSecret: clientSecret, publicUrl } = config;
  return createOidc({ issuer, clientId, clientSecret, name: "OpenID Connect", publicUrl, secrets });
}

/**
 * Undefined if no provider is configured. Sign-ins do not reveal whether it responds, because its metadata is read once and they are
 * rare.
 */
export function watchOidc({
  oidcIssuer: issuer,
  oidcClientId: clientId,
  oidcClientSecret: clientSecret,
}: ServerConfig): ServiceWatch | undefined {
  if (issuer === undefined || clientId === undefined) return undefined;
  return watchService(() => discoverProvider({ issuer, clientId, clientSecret }));
}
