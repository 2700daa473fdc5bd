import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describeRoutes } from "../api-docs/openapi.ts";
import type { ServerConfig } from "../config/config.ts";
import type { Pool } from "../db/pool.ts";
import type { Route } from "../http/route.ts";
import { createSigner } from "../lib/sign-jws.ts";
import { version } from "../lib/version.ts";
import { docsRoutes } from "../sites/docs-site.ts";
import { landingRoute } from "../sites/landing-route.ts";
import { publicRoutes } from "../sites/public-routes.ts";
import { createStatusPage, readStatusCounts, statusRoutes } from "../status/status.ts";

/** The pages that describe the API and the service: links, OpenAPI, problem pages, llms.txt, the docs site and the status page. */
export function siteRoutes(
  api: readonly Route[],
  config: ServerConfig,
  { ledgerPool, whyNotReady }: { ledgerPool: Pool; whyNotReady: () => Promise<string | undefined> },
): Route[] {
  const { publicUrl, peopleDatabaseUrl } = config;
  const status = statusRoutes(createStatusPage({ publicUrl, readCounts: () => readStatusCounts(ledgerPool) }));
  const landing = landingRoute({ publicUrl, version, whyNotReady, hasConsole: peopleDatabaseUrl !== undefined });
  return [landing, ...status, ...descriptions([...api, ...status], config), ...docsRoutes(docsFolder)];
}

/** The output of `npm run docs:build`. The server works without the docs. */
const docsFolder = fileURLToPath(new URL("../../../docs/.vitepress/dist", import.meta.url));

function descriptions(api: readonly Route[], config: ServerConfig): Route[] {
  // Encoded on the first request and cached: the document is large.
  let openapi: Buffer | undefined;
  const described = publicRoutes({
    publicUrl: config.publicUrl,
    securityContact: config.securityContact,
    hasDocs: () => existsSync(docsFolder),
    jwks: createSigner(config.signingSeeds)?.jwks,
    readOpenapi() {
      const description = { version, serverUrl: config.publicUrl };
      openapi ??= Buffer.from(JSON.stringify(describeRoutes([...api, ...described], description)));
      return openapi;
    },
  });
  return described;
}
