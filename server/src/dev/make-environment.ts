import type { Addresses } from "./choose-addresses.ts";
import type { Secrets } from "./kept-data.ts";
import type { DatabaseUrls } from "./prepare-database.ts";

/** Settings of the server, the worker and the admin command. PENNYBLACK_ variables of the caller take precedence. */
export function makeEnvironment(
  given: NodeJS.ProcessEnv,
  { addresses, urls, secrets }: { addresses: Addresses; urls: DatabaseUrls; secrets: Secrets },
): Record<string, string> {
  const settings = Object.entries(given).filter(
    (entry): entry is [string, string] => entry[0].startsWith("PENNYBLACK_") && Boolean(entry[1]),
  );
  return {
    ...secrets,
    PENNYBLACK_PUBLIC_URL: addresses.url,
    PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE: "true",
    PENNYBLACK_SIGN_UP: "open",
    ...Object.fromEntries(settings),
    HOST: addresses.host,
    PORT: String(addresses.port),
    PENNYBLACK_OPS_PORT: String(addresses.opsPort),
    DATABASE_URL: urls.ledger,
    PENNYBLACK_TENANT_DATABASE_URL: urls.tenant,
    PENNYBLACK_PAYMENTS_DATABASE_URL: urls.payments,
    PENNYBLACK_OPERATOR_DATABASE_URL: urls.operator,
    PENNYBLACK_PEOPLE_DATABASE_URL: urls.people,
    PENNYBLACK_WORKER_DATABASE_URL: urls.worker,
    PENNYBLACK_DIRECT_DATABASE_URL: urls.owner,
  };
}
