import { createOperation, type FuzzOperation } from "./fuzz-operation.ts";
import type { Schema } from "./schema-values.ts";

// The console's API, which openapi.json does not contain: the routes of /v1 below a wallet, and its own routes.

const prefix = "/console/api/wallets/{walletId}";
const text = (maxLength: number): Schema => ({ type: "string", maxLength });
const plainName: Schema = { type: "string", maxLength: 200, pattern: "^[a-zé ]*$" };
const role: Schema = { enum: ["owner", "developer", "viewer"] };

function object(properties: Record<string, Schema>, required = Object.keys(properties)): Schema {
  return { type: "object", required, properties };
}

/** The bodies of routes below a wallet that exist only in the console. */
const ownBelowWallet: Record<string, Schema | undefined> = {
  "GET /version": undefined,
  "GET /members": undefined,
  "PATCH /members/{personId}": object({ role: { enum: ["developer", "viewer"] } }),
  "DELETE /members/{personId}": undefined,
  "GET /apps": undefined,
  "PUT /apps": object({ budget: object({ day: { type: "string", pattern: "^\\d{1,9}(\\.\\d{1,6})?$" } }) }),
  "DELETE /apps": undefined,
  "POST /apps/{id}/allow": undefined,
  "GET /budget-requests": undefined,
  "POST /budget-requests/{id}/approve": undefined,
  "POST /budget-requests/{id}/deny": undefined,
  "POST /invitations": object({ email: text(300), role }),
  "DELETE /invitations/{id}": undefined,
};

/** Routes without a wallet. Signing in or out ends the session that was sent, so they use a separate one. */
const elsewhere: Record<string, Pick<FuzzOperation, "credential"> & Partial<Pick<FuzzOperation, "body" | "query">>> = {
  "GET /session": { credential: "session" },
  "POST /accounts": {
    credential: "session",
    body: object({ account_name: { ...plainName, pattern: "^[a-z][a-zé ]*$" }, person_name: plainName }),
  },
  "POST /sign-in/email": {
    credential: "disposable",
    body: object({ email: text(300), return_to: text(512) }, ["email"]),
  },
  "POST /sign-in/token": { credential: "disposable", body: object({ token: { const: "{{signInOnce}}" } }) },
  "POST /invitations/accept": {
    credential: "disposable",
    body: object({ token: { const: "{{invitationOnce}}" }, name: plainName }),
  },
  "GET /invitations/{id}": { credential: "session" },
  "POST /invitations/{id}/accept": { credential: "session", body: object({ name: plainName }) },
  "POST /sign-out": { credential: "disposable" },
  "POST /sign-out/everywhere": { credential: "disposable" },
  "GET /sign-in/oidc": { credential: "disposable", query: { return_to: text(512), fresh: { enum: ["1"] } } },
  "GET /sign-in/oidc/callback": {
    credential: "disposable",
    query: { code: text(60), state: text(60), iss: text(60), error: text(60) },
  },
};

/** Routes of /v1 that need a management key are also served below a wallet in the console. */
export function consoleOperations(apiOperations: readonly FuzzOperation[]): FuzzOperation[] {
  const mounted = apiOperations
    .filter(({ credential, path }) => credential === "mgmt" && !/^\/v1\/key(?:\/|$)/.test(path))
    .map(({ method, path, query, idempotency, body }) =>
      createOperation(
        method,
        path.replace(/^\/v1/, () => prefix),
        { credential: "session", query, idempotency, body },
      ),
    );
  const searchFields = apiOperations.find(({ name }) => name === "POST /v1/search")?.body?.properties ?? {};
  const playground = object({ ...searchFields, key_id: text(36), explain: { type: "boolean" } }, ["key_id", "query"]);
  const own = Object.entries({ ...ownBelowWallet, "POST /playground/search": playground }).map(([route, body]) => {
    const [method = "", below = ""] = route.split(" ");
    return createOperation(method, prefix + below, { credential: "session", body });
  });
  const others = Object.entries(elsewhere).map(([route, options]) => {
    const [method = "", below = ""] = route.split(" ");
    return createOperation(method, `/console/api${below}`, options);
  });
  return [...mounted, ...own, ...others];
}
