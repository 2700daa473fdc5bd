import { isIP } from "node:net";
import { type Static, Type } from "typebox";
import { findAmountFaults } from "../http/input/budget-amount.ts";
import { externalId } from "../http/input/external-id.ts";
import { type Fault, fieldFault, invalidInput, listWords } from "../http/input/faults.ts";
import { describeTime, isUuid } from "../http/input/query-parameters.ts";
import { textPatterns } from "../http/input/text-patterns.ts";
import { parseUsd } from "../lib/money.ts";
import type { MaxOnlyDomains } from "../lib/source-policy.ts";
import { compatSchema, findCompatFaults } from "./compat.ts";
import type { KeyMode } from "./key-format.ts";
import type { KeyFields } from "./manage-keys.ts";
import { findMaxRunFaults, newMaxRunSchema, normalizeMaxRun } from "./max-run.ts";
import { defaultScopes, type Scope, scopesOf } from "./scopes.ts";
import { findSourcesFaults, normalizeSources, sourcesSchema } from "./source-policy.ts";

// Request bodies of the key routes.

/** Per second, and in flight, of one key. */
export const maxSearches = 1_000;

const orNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()]);

const nameSchema = Type.String({
  description: "A name of your choice, shown in lists and alerts. Never sent to an upstream.",
  minLength: 1,
  maxLength: 100,
  pattern: textPatterns.visible,
});

const amountSchema = Type.String({ pattern: textPatterns.usd, description: "USD as a decimal string." });

const endUserLimitSchema = Type.Object(
  { amount: amountSchema, period: Type.Enum(["day", "month"]) },
  {
    additionalProperties: false,
    title: "EndUserLimit",
    description:
      "Maximum amount that each end user can spend with a live or test key per day or month (UTC). Searches must then name an end user in `Search-For`. Null for no limit.",
  },
);

/** Fields that can be changed later. A change leaves omitted fields as they are. */
const changeable = {
  name: Type.Optional(nameSchema),
  allowed_ips: Type.Optional(
    orNull(
      Type.Array(Type.String({ maxLength: 64 }), {
        minItems: 1,
        maxItems: 100,
        description: "IP addresses or networks the key can be used from, such as 192.0.2.0/24. Null for any address.",
      }),
    ),
  ),
  expires_at: Type.Optional(
    orNull(Type.String({ maxLength: 40, description: "A future time as in RFC 3339. Null for no expiry." })),
  ),
  searches_per_second: Type.Optional(Type.Integer({ minimum: 1, maximum: maxSearches, default: maxSearches })),
  searches_in_flight: Type.Optional(Type.Integer({ minimum: 1, maximum: maxSearches, default: maxSearches })),
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
          title: "KeyBudgetLimits",
          description:
            "Spending limits of a live or test key: total, per day and per month (UTC). A test key spends play money. Null removes a limit. A change leaves omitted limits as they are.",
        },
      ),
    ),
  ),
  end_user_limit: Type.Optional(orNull(endUserLimitSchema)),
  budgets: Type.Optional(
    Type.Array(Type.String({ maxLength: 36 }), {
      maxItems: 8,
      uniqueItems: true,
      description:
        "The ids of shared budgets (`POST /v1/budgets`) of the key's mode that its searches also spend from. An empty list removes all.",
    }),
  ),
  compat: Type.Optional(orNull(compatSchema)),
  sources: Type.Optional(orNull(sourcesSchema)),
  max_run: Type.Optional(orNull(newMaxRunSchema)),
  external_id: Type.Optional(externalId("keys of a mode that are not revoked")),
};

export const newKeySchema = Type.Object(
  {
    mode: Type.Enum(["live", "test", "mgmt"], { title: "KeyMode" }),
    ...changeable,
    name: nameSchema,
    scopes: Type.Optional(
      Type.Array(
        Type.Enum(
          [
            "search",
            "wallet:read",
            "wallet:write",
            "keys:read",
            "keys:write",
            "webhooks:write",
            "activity:read",
            "budgets:request",
          ],
          { title: "Scope" },
        ),
        {
          minItems: 1,
          maxItems: 6,
          uniqueItems: true,
          description:
            "Live and test keys can have `search`, `wallet:read` and `budgets:request`, management keys all scopes except `search` and `budgets:request`. `keys:write` includes `keys:read`. Default: `search` for live and test keys, all scopes of your own key for management keys.",
        },
      ),
    ),
  },
  { additionalProperties: false, title: "CreateKeyRequest" },
);

export const keyChangesSchema = Type.Object(changeable, {
  additionalProperties: false,
  minProperties: 1,
  title: "UpdateKeyRequest",
});

export const rotationSchema = Type.Object(
  {
    grace_seconds: Type.Integer({
      minimum: 0,
      maximum: 30 * 86_400,
      description: "How long the old key keeps working. 0 to expire it immediately.",
    }),
  },
  { additionalProperties: false, title: "RotateKeyRequest" },
);

/** `own`: the scopes of the key that creates the new one. `maxOnly`: of the upstreams; it does not apply to test keys. */
export function readNewKey(
  body: Static<typeof newKeySchema>,
  own: readonly Scope[],
  maxOnly: MaxOnlyDomains,
): KeyFields & { scopes: Scope[] } {
  const mode: KeyMode = body.mode;
  const defaults = mode === "mgmt" ? defaultScopes.mgmt.filter((scope) => own.includes(scope)) : defaultScopes[mode];
  const scopes: Scope[] = body.scopes ?? [...defaults];
  const faults: Fault[] = [];
  const forbidden = scopes.find((scope) => !scopesOf[mode].includes(scope));
  if (forbidden)
    faults.push(
      fieldFault(
        "scopes",
        `must not contain \`${forbidden}\`; a ${mode} key can have ${listWords(scopesOf[mode], "and")}`,
      ),
    );
  if (mode === "mgmt") faults.push(...findSpendingLimits(body));
  const fields = readFields(body, faults, mode === "test" ? undefined : maxOnly);
  const { searches_per_second = maxSearches, searches_in_flight = maxSearches } = fields;
  return { ...fields, searches_per_second, searches_in_flight, scopes };
}

export function readKeyChanges(body: Static<typeof keyChangesSchema>, maxOnly: MaxOnlyDomains): KeyFields {
  return readFields(body, [], maxOnly);
}

/** Faults of a management key, which cannot search. */
export function findSpendingLimits(
  fields: Pick<KeyFields, "budget" | "end_user_limit" | "budgets" | "sources"> & { max_run?: unknown },
): Fault[] {
  const { budget, end_user_limit, sources, max_run } = fields;
  const budgets = fields.budgets?.length ? fields.budgets : undefined;
  const limits = { budget, end_user_limit, budgets, sources, max_run };
  return Object.entries(limits).flatMap(([name, limit]) =>
    limit ? [fieldFault(name, "is not allowed for a management key")] : [],
  );
}

function readFields(body: Static<typeof keyChangesSchema>, faults: Fault[], maxOnly: MaxOnlyDomains): KeyFields {
  const { name, allowed_ips, expires_at, searches_per_second, searches_in_flight } = body;
  const { budget, end_user_limit, budgets, compat, sources, max_run, external_id } = body;
  for (const [index, network] of (allowed_ips ?? []).entries()) {
    if (!isNetwork(network)) faults.push(fieldFault(`allowed_ips/${index}`, networkRule));
  }
  const expiryFault = typeof expires_at === "string" ? findExpiryFault(expires_at) : undefined;
  if (expiryFault !== undefined) faults.push(fieldFault("expires_at", expiryFault));
  if (compat) faults.push(...findCompatFaults(compat));
  if (sources) faults.push(...findSourcesFaults(sources, maxOnly));
  if (max_run) faults.push(...findMaxRunFaults(max_run));
  faults.push(...findBudgetFaults(body));
  if (faults.length > 0) throw invalidInput(faults);
  const limits = { searches_per_second, searches_in_flight, budget: readBudget(budget), budgets };
  const endUserLimit = end_user_limit && { ...end_user_limit, amount: String(parseUsd(end_user_limit.amount)) };
  const settings = {
    compat,
    sources: sources && normalizeSources(sources),
    max_run: max_run && normalizeMaxRun(max_run),
    external_id,
  };
  const fields = { name, allowed_ips, expires_at, ...limits, end_user_limit: endUserLimit, ...settings };
  // Undefined fields are not sent, which leaves them unchanged.
  return fields as KeyFields;
}

function findBudgetFaults({ budget, end_user_limit, budgets }: Static<typeof keyChangesSchema>): Fault[] {
  return [
    ...Object.entries(budget ?? {}).flatMap(([period, limit]) => findAmountFaults(`budget/${period}`, limit)),
    ...findAmountFaults("end_user_limit/amount", end_user_limit?.amount),
    ...(budgets ?? []).flatMap((id, index) => (isUuid(id) ? [] : [fieldFault(`budgets/${index}`, budgetsRule)])),
  ];
}

function readBudget(budget: Static<typeof keyChangesSchema>["budget"]): KeyFields["budget"] {
  if (!budget) return budget;
  const micros = Object.entries(budget).map(([period, limit]) => [
    period,
    limit === null ? null : String(parseUsd(limit)),
  ]);
  return Object.fromEntries(micros) as KeyFields["budget"];
}

function findExpiryFault(text: string): string | undefined {
  const time = readTime(text);
  if (time > Date.now()) return undefined;
  const received = Number.isNaN(time) ? describeNoTime(text) : "is in the past";
  return `must be a time in the future with its zone, such as \`2030-01-31T12:00:00Z\`, but ${received}`;
}

function describeNoTime(text: string): string {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  return isDay ? `is the date \`${text}\` without a time; append \`T00:00:00Z\` for midnight UTC` : describeTime(text);
}

function readTime(text: string): number {
  const isValid = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/i.test(text);
  return isValid ? Date.parse(text) : Number.NaN;
}

export const budgetsRule = "must be ids of shared budgets of the key's mode, as in `GET /v1/budgets`";

export const networkRule = "must be an IP address or a network without host bits, such as 192.0.2.0/24";

/** PostgreSQL checks the host bits. */
function isNetwork(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const family = isIP(address);
  const isLength = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32));
  return family !== 0 && isLength && rest.length === 0 && !address.includes("%");
}
