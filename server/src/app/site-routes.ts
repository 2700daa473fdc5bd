import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describeRoutes } from "../api-docs/openapi.ts";
import type { ServerConfig } from "../config/config.ts";
import type { Route } from "../http/route.ts";
import { createSigner } from "../lib/sign-jws.ts";
import { version } from "../lib/version.ts";
import { docsRoutes } from "../sites/docs-site.ts";
import { landingRoute } from "../sites/landing-route.ts";
import { publicRoutes } from "../sites/public-routes.ts";

/** The pages that describe the API: links, OpenAPI, problem pages, llms.txt and the docs site. */
export function siteRoutes(
  api: readonly Route[],
  config: ServerConfig,
  whyNotReady: () => Promise<string | undefined>,
): Route[] {
  const { publicUrl, peopleDatabaseUrl } = config;
  const landing = landingRoute({ publicUrl, version, whyNotReady, hasConsole: peopleDatabaseUrl !== undefined });
  return [landing, ...descriptions(api, config), ...docsRoutes(docsFolder)];
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
