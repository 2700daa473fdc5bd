import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ServerConfig } from "../config/config.ts";
import { docsRoutes } from "../docs-site/docs-site.ts";
import { describeRoutes } from "../http/openapi.ts";
import { publicRoutes } from "../http/public-routes.ts";
import type { Route } from "../http/route.ts";
import { createSigner } from "../lib/sign-jws.ts";
import { version } from "../lib/version.ts";

/** The pages that describe the API: OpenAPI, problem pages, llms.txt and, if built, the docs site. */
export function siteRoutes(api: readonly Route[], config: ServerConfig): Route[] {
  const docs = builtDocs();
  return [...descriptions(api, config, docs.length > 0), ...docs];
}

function descriptions(api: readonly Route[], config: ServerConfig, hasDocs: boolean): Route[] {
  // Encoded on the first request and cached: the document is large.
  let openapi: Buffer | undefined;
  const described = publicRoutes({
    publicUrl: config.publicUrl,
    securityContact: config.securityContact,
    hasDocs,
    jwks: createSigner(config.signingSeeds)?.jwks,
    readOpenapi() {
      const description = { version, serverUrl: config.publicUrl };
      openapi ??= Buffer.from(JSON.stringify(describeRoutes([...api, ...described], description)));
      return openapi;
    },
  });
  return described;
}

/** Empty unless `npm run docs:build` has run; the server works without the docs. */
function builtDocs(): Route[] {
  const folder = fileURLToPath(new URL("../../../docs/.vitepress/dist", import.meta.url));
  return existsSync(folder) ? docsRoutes(folder) : [];
}
