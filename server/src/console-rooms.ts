import { createSecretKey } from "node:crypto";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Config, serverSettings } from "./config.ts";
import type { Connections } from "./connections.ts";
import { consoleRoutes } from "./console/console.ts";
import type { ConsoleParts } from "./console/console-parts.ts";
import { siteRoutes } from "./console/console-site.ts";
import { createCookie } from "./console/cookies.ts";
import { createOidc, type Oidc } from "./console/oidc.ts";
import { createSignInLimits } from "./console/sign-in-limits.ts";
import type { Pool } from "./db/pool.ts";
import { enterUntilClosed, enterWalletLimits } from "./doors.ts";
import type { Route } from "./http/route.ts";
import type { Enter } from "./keys/keys.ts";
import { findOwnCaller } from "./keys/own-caller.ts";
import { formatUsd } from "./lib/money.ts";
import type { EnterLimits } from "./search/limits.ts";
import type { SearchParts } from "./search/search.ts";
import { answerSearch } from "./search/search-routes.ts";

export interface ConsoleWiring {
  config: Pick<Config, (typeof serverSettings)[number]>;
  connections: Connections;
  enterLimits: EnterLimits;
  search: SearchParts;
  noteKeyUse: (keyId: string) => void;
  /** The routes of a management key, behind another door. */
  manage: (enter: Enter) => Route[];
}

/** One address at the console's door. A whole office may sit behind it. */
const placeLimits = { searchesPerSecond: 200, searchesInFlight: 64 };

/** None where nobody can sign in. */
export function roomsOfConsole(wiring: ConsoleWiring): Route[] {
  const { peoplePool } = wiring.connections;
  if (!peoplePool) return [];
  return [...consolePages("index.html"), ...consoleRoutes(consoleParts(wiring, peoplePool), wiring.manage)];
}

/** Where `npm run console:build` has run. */
export function consolePages(page: "index.html" | "operator.html"): Route[] {
  const folder = fileURLToPath(new URL("../../console/dist", import.meta.url));
  return existsSync(folder) ? siteRoutes(folder, page) : [];
}

function consoleParts(wiring: ConsoleWiring, people: Pool): ConsoleParts {
  const { config, connections, enterLimits, search, noteKeyUse } = wiring;
  const { publicUrl, trialCredit: amount, trialsPerDay: mostPerDay, secret } = config;
  return {
    people,
    publicUrl,
    secret: createSecretKey(secret),
    cookie: createCookie("pennyblack", publicUrl),
    oidc: openOidc(config),
    limits: createSignInLimits(connections.redis),
    enterPlaceLimits: (place, reply) =>
      enterUntilClosed(enterLimits, { keyId: `console ${place}`, ...placeLimits }, reply),
    enterWalletLimits: (walletId, reply) => enterWalletLimits(enterLimits, walletId, reply),
    isSignUpOpen: config.signUp === "open",
    trial: { amount, mostPerDay, secret },
    features: { payments: config.stripeSecretKey !== undefined, mail: config.smtpUrl !== undefined },
    topUp: { minimum: formatUsd(config.topUpMin), maximum: formatUsd(config.topUpMax) },
    async findCaller(wanted) {
      const caller = await findOwnCaller(connections.tenantPool, wanted);
      noteKeyUse(caller.keyId);
      return caller;
    },
    runSearch: (request, reply, { caller, body, isExplained }) =>
      answerSearch({ ...search, authenticate: async () => caller }, request, reply, {
        headers: { ...(request.headers as Record<string, string>), ...(isExplained && { "rank-explain": "1" }) },
        readBody: async () => Buffer.from(JSON.stringify(body)),
      }),
  };
}

function openOidc({
  oidcIssuer: issuer,
  oidcClientId: clientId,
  ...config
}: ConsoleWiring["config"]): Oidc | undefined {
  if (issuer === undefined || clientId === undefined) return undefined;
  const { oidcClientSecret: clientSecret, oidcName: name = "OpenID Connect", publicUrl } = config;
  return createOidc({ issuer, clientId, clientSecret, name, publicUrl, secret: createSecretKey(config.secret) });
}
