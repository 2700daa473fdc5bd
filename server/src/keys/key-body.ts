import { isIP } from "node:net";
import { type Static, Type } from "typebox";
import { type Fault, invalidInput } from "../http/read-json.ts";
import { parseUsd } from "../lib/money.ts";
import type { KeyMode } from "./key-format.ts";
import type { KeyParts } from "./own-keys.ts";
import { defaultScopes, type Scope, scopesOf } from "./scopes.ts";

// What callers send about a key, and what becomes of it.

const orNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()]);

const nameSchema = Type.String({
  description: "Yours to choose. It is shown in lists and warnings, and never to the upstream.",
  minLength: 1,
  maxLength: 100,
  pattern: "^[^\\x00-\\x1f\\x7f]*[^\\s\\x00-\\x1f\\x7f][^\\x00-\\x1f\\x7f]*$",
});

const amountSchema = Type.String({ pattern: "^\\d{1,9}(\\.\\d{1,6})?$", description: "USD as a decimal string." });

/** What may be changed later; in a change, what is left out stays. */
const changeable = {
  name: Type.Optional(nameSchema),
  allowed_ips: Type.Optional(
    orNull(
      Type.Array(Type.String({ maxLength: 64 }), {
        minItems: 1,
        maxItems: 100,
        description: "Addresses or networks, such as 192.0.2.0/24. Null: from anywhere.",
      }),
    ),
  ),
  expires_at: Type.Optional(
    orNull(Type.String({ maxLength: 40, description: "A moment to come, as in RFC 3339. Null: never." })),
  ),
  searches_per_second: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 1_000 })),
  searches_in_flight: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 1_000 })),
  budget: Type.Optional(
    orNull(
      Type.Object(
        {
          total: Type.Optional(orNull(amountSchema)),
          day: Type.Optional(orNull(amountSchema)),
          month: Type.Optional(orNull(amountSchema)),
        },
        {
          additionalProperties: false,
          description:
            "What a live key may spend: in all, in a day, in a month (UTC). A limit that is null does not exist, and one that is left out of a change stays.",
        },
      ),
    ),
  ),
};

export const newKeySchema = Type.Object(
  {
    mode: Type.Enum(["live", "test", "mgmt"]),
    ...changeable,
    name: nameSchema,
    scopes: Type.Optional(
      Type.Array(Type.Enum(["search", "wallet:read", "wallet:write", "keys:write", "webhooks:write"]), {
        minItems: 1,
        maxItems: 5,
        uniqueItems: true,
        description:
          "Live and test keys: search, wallet:read. Management keys: all but search. Without it, search keys may search and management keys have every scope that yours has.",
      }),
    ),
  },
  { additionalProperties: false, title: "NewKey" },
);

export const keyChangesSchema = Type.Object(changeable, {
  additionalProperties: false,
  minProperties: 1,
  title: "KeyChanges",
});

export const rotationSchema = Type.Object(
  {
    grace_seconds: Type.Integer({
      minimum: 0,
      maximum: 30 * 86_400,
      description: "How long the old key still works. 0: it ends at once.",
    }),
  },
  { additionalProperties: false, title: "KeyRotation" },
);

/** The parts of a new key. `own` are the scopes of the key that makes it. */
export function readNewKey(body: Static<typeof newKeySchema>, own: readonly Scope[]): KeyParts & { scopes: Scope[] } {
  const mode: KeyMode = body.mode;
  const usual = mode === "mgmt" ? defaultScopes.mgmt.filter((scope) => own.includes(scope)) : defaultScopes[mode];
  const scopes: Scope[] = body.scopes ?? [...usual];
  const faults: Fault[] = [];
  const unfit = scopes.find((scope) => !scopesOf[mode].includes(scope));
  if (unfit) faults.push(invalid("scopes", `may not hold ${unfit} for a ${mode} key`));
  if (mode !== "live" && body.budget) faults.push(budgetWithoutSpending);
  const parts = readParts(body, faults);
  const { searches_per_second = 1_000, searches_in_flight = 1_000 } = parts;
  return { ...parts, searches_per_second, searches_in_flight, scopes };
}

/** The parts to change. */
export function readKeyChanges(body: Static<typeof keyChangesSchema>): KeyParts {
  return readParts(body, []);
}

export const budgetWithoutSpending = invalid("budget", "is for live keys: no other key spends");

function readParts(body: Static<typeof keyChangesSchema>, faults: Fault[]): KeyParts {
  const { name, allowed_ips, expires_at, searches_per_second, searches_in_flight, budget } = body;
  for (const [index, network] of (allowed_ips ?? []).entries()) {
    if (!isNetwork(network)) faults.push(invalid(`allowed_ips/${index}`, networkRule));
  }
  const isPast = typeof expires_at === "string" && !(readMoment(expires_at) > Date.now());
  if (isPast) faults.push(invalid("expires_at", "must be a moment to come, such as 2030-01-31T12:00:00Z"));
  if (faults.length > 0) throw invalidInput(faults);
  const parts = { name, allowed_ips, expires_at, searches_per_second, searches_in_flight, budget: readBudget(budget) };
  // What is undefined is left out of the JSON, and so stays as it is.
  return parts as KeyParts;
}

function readBudget(budget: Static<typeof keyChangesSchema>["budget"]): KeyParts["budget"] {
  if (!budget) return budget;
  const micros = Object.entries(budget).map(([period, limit]) => [
    period,
    limit === null ? null : String(parseUsd(limit)),
  ]);
  return Object.fromEntries(micros) as KeyParts["budget"];
}

function readMoment(text: string): number {
  const isClear = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/i.test(text);
  return isClear ? Date.parse(text) : Number.NaN;
}

export const networkRule = "must be an address or a network without host bits, such as 192.0.2.0/24";

/** Host bits are left to PostgreSQL, which knows best. */
function isNetwork(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const family = isIP(address);
  const isLength = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32));
  return family !== 0 && isLength && rest.length === 0 && !address.includes("%");
}

export function invalid(place: string, detail: string): Fault {
  return { pointer: `#/${place}`, code: "invalid", detail };
}
