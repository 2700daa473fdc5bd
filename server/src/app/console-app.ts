import { fileURLToPath } from "node:url";
import type { ServerConfig } from "../config/config.ts";
import { consoleRoutes } from "../console/console.ts";
import type { ConsoleDependencies } from "../console/console-dependencies.ts";
import { siteRoutes } from "../console/console-site.ts";
import { createCookie } from "../console/cookies.ts";
import { createOidc, discoverProvider, type Oidc } from "../console/oidc.ts";
import { createSignInLimits } from "../console/sign-in-limits.ts";
import type { Pool } from "../db/pool.ts";
import type { Route } from "../http/route.ts";
import { findPrincipal } from "../keys/find-principal.ts";
import type { Guard } from "../keys/keys.ts";
import { formatUsd } from "../lib/money.ts";
import type { Secrets } from "../lib/secrets.ts";
import { type ServiceWatch, watchService } from "../lib/watch-service.ts";
import type { Admission } from "../limits/admission.ts";
import { type AcquireSlot, limitWallet, occupySlotUntilClosed } from "../limits/request-limits.ts";
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
const networkLimits = { kind: "network" as const, searchesPerSecond: 200, searchesInFlight: 64 };

/** Empty if sign-in is not configured. */
export function createConsoleRoutes(dependencies: ConsoleAppDependencies): Route[] {
  const { connections, manage } = dependencies;
  if (!connections.peoplePool) return [];
  const console = consoleDependencies(dependencies, connections.peoplePool);
  return [...consolePageRoutes("index.html"), ...consoleRoutes(console, manage)];
}

/** The output of `npm run console:build`. */
export function consolePageRoutes(page: "index.html" | "operator.html"): Route[] {
  return siteRoutes(fileURLToPath(new URL("../../../console/dist", import.meta.url)), page);
}

function consoleDependencies(dependencies: ConsoleAppDependencies, people: Pool): ConsoleDependencies {
  const { config, secrets, connections, acquireSlot, admission, runner, recordUse, oidc } = dependencies;
  const { publicUrl } = config;
  return {
    people,
    publicUrl,
    secrets,
    cookie: createCookie("pennyblack", publicUrl),
    oidc,
    limits: createSignInLimits(connections.redis, secrets),
    limitNetwork: (network, reply) =>
      occupySlotUntilClosed(acquireSlot, { keyId: `console ${network}`, ...networkLimits }, reply),
    limitWallet: (walletId, reply) => limitWallet({ acquireSlot, admission }, walletId, reply),
    readVersion: (walletId) => readVersion(connections.tenantPool, walletId),
    isSignUpOpen: config.signUp === "open",
    features: {
      payments: config.stripeSecretKey !== undefined,
      mail: config.smtpUrl !== undefined,
      topUpUrl: config.topUpUrl,
    },
    topUp: { minimum: formatUsd(config.topUpMin), maximum: formatUsd(config.topUpMax) },
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
 * Undefined if no provider is configured. Sign-ins do not show whether it responds: its metadata is read once, and they are
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
