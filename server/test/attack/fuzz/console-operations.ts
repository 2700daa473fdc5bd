import type { FuzzOperation } from "./fuzz-operation.ts";
import type { Schema } from "./schema-values.ts";

// The console's API, which is in no document: the routes of /v1 once more below a wallet, and those of its own.

const prefix = "/console/api/wallets/{walletId}";
const text = (maxLength: number): Schema => ({ type: "string", maxLength });
const plainName: Schema = { type: "string", maxLength: 200, pattern: "^[a-zé ]*$" };
const role: Schema = { enum: ["owner", "developer", "viewer"] };

function object(properties: Record<string, Schema>, required = Object.keys(properties)): Schema {
  return { type: "object", required, properties };
}

/** What only the console has below a wallet: the bodies by name. */
const ownBelowWallet: Record<string, Schema | undefined> = {
  "GET /members": undefined,
  "PATCH /members/{personId}": object({ role: { enum: ["developer", "viewer"] } }),
  "DELETE /members/{personId}": undefined,
  "POST /invitations": object({ email: text(300), role }),
  "DELETE /invitations/{id}": undefined,
};

/** Where no wallet is named. Whoever signs in or out leaves the session that came along, so it is one nobody needs. */
const elsewhere: Record<string, Pick<FuzzOperation, "opener"> & Partial<Pick<FuzzOperation, "body" | "query">>> = {
  "GET /session": { opener: "session" },
  "POST /accounts": {
    opener: "session",
    body: object({ account_name: { ...plainName, pattern: "^[a-z][a-zé ]*$" }, person_name: plainName }),
  },
  "POST /sign-in/email": { opener: "leaver", body: object({ email: text(300), return_to: text(512) }, ["email"]) },
  "POST /sign-in/token": { opener: "leaver", body: object({ token: { const: "{{signInOnce}}" } }) },
  "POST /invitations/accept": {
    opener: "leaver",
    body: object({ token: { const: "{{invitationOnce}}" }, name: plainName }),
  },

  "POST /sign-out": { opener: "leaver" },
  "POST /sign-out/everywhere": { opener: "leaver" },
  "GET /sign-in/oidc": { opener: "leaver", query: { return_to: text(512), fresh: { enum: ["1"] } } },
  "GET /sign-in/oidc/callback": {
    opener: "leaver",
    query: { code: text(60), state: text(60), iss: text(60), error: text(60) },
  },
};

/** A route of /v1 that needs a key of the wallet's own is a wallet's, and is served here too. */
export function consoleOperations(ofV1: readonly FuzzOperation[]): FuzzOperation[] {
  const mounted = ofV1
    .filter(({ opener, path }) => opener === "mgmt" && path !== "/v1/key")
    .map((operation) => ({ ...named(operation.method, path(operation)), ...rest(operation) }));
  const played = ofV1.find(({ name }) => name === "POST /v1/search")?.body?.properties ?? {};
  const playground = object({ ...played, key_id: text(36), explain: { type: "boolean" } }, ["key_id", "query"]);
  const own = Object.entries({ ...ownBelowWallet, "POST /playground/search": playground }).map(([route, body]) => {
    const [method = "", below = ""] = route.split(" ");
    return { ...named(method, prefix + below), ...rest({ query: {}, idempotency: "none", body }) };
  });
  const others = Object.entries(elsewhere).map(([route, given]): FuzzOperation => {
    const [method = "", below = ""] = route.split(" ");
    return {
      ...named(method, `/console/api${below}`),
      ...rest({ query: {}, idempotency: "none", body: undefined, ...given }),
      opener: given.opener,
    };
  });
  return [...mounted, ...own, ...others];
}

function path(operation: FuzzOperation): string {
  return operation.path.replace(/^\/v1/, () => prefix);
}

function named(method: string, at: string): Pick<FuzzOperation, "name" | "listener" | "method" | "path"> {
  return { name: `${method} ${at}`, listener: "public", method, path: at };
}

function rest({
  query,
  idempotency,
  body,
}: Pick<FuzzOperation, "query" | "idempotency" | "body">): Pick<
  FuzzOperation,
  "opener" | "query" | "idempotency" | "body" | "weight"
> {
  return { opener: "session", query, idempotency, body, weight: 5 };
}
