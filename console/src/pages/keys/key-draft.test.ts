import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyDraft, findErrors, type KeyDraft, toChanges, toDraft, toNewKey } from "./key-draft.ts";

const now = new Date("2030-01-31T12:00:00Z");

test("a key without options has a name and no limits", () => {
  assert.deepEqual(toNewKey({ ...emptyDraft("live"), name: " Production " }), {
    mode: "live",
    name: "Production",
    expires_at: null,
    allowed_ips: null,
    budget: null,
    end_user_limit: null,
    budgets: [],
    sources: null,
    max_run: null,
    searches_per_second: 1_000,
    searches_in_flight: 1_000,
  });
});

test("converts typed limits to the request body", () => {
  const draft = {
    ...emptyDraft("test"),
    name: "Agent",
    budget: { total: "", day: "$5", month: "100" },
    endUserLimit: { amount: "0.5", period: "month" as const },
    ips: "203.0.113.7, 2001:db8::/32\n",
    block: "example.com\nBücher.example ",
    perSecond: "20",
    canReadWallet: true,
  };
  assert.deepEqual(findErrors(draft, now), {});
  const body = toNewKey(draft);
  assert.deepEqual(body["budget"], { total: null, day: "5.00", month: "100.00" });
  assert.deepEqual(body["end_user_limit"], { amount: "0.50", period: "month" });
  assert.deepEqual(body["allowed_ips"], ["203.0.113.7", "2001:db8::/32"]);
  assert.deepEqual(body["sources"], { block: ["example.com", "Bücher.example"] });
  assert.deepEqual(body["scopes"], ["search", "wallet:read"]);
  assert.equal(body["searches_per_second"], 20);
});

test("a management key has no budget", () => {
  const limits = { budget: { total: "5", day: "", month: "" }, endUserLimit: { amount: "1", period: "day" as const } };
  const body = toNewKey({ ...emptyDraft("mgmt"), name: "Deploy", ...limits });
  assert.deepEqual(Object.keys(body), ["mode", "name", "expires_at", "allowed_ips"]);
});

const invalid: KeyDraft = {
  ...emptyDraft("live"),
  budget: { total: "much", day: "", month: "" },
  endUserLimit: { amount: "little", period: "day" },
  maxRun: { max: "", required: true },
  expires: "2029-01-01T00:00",
  ips: "localhost",
  block: "https://example.com",
  only: "example.com\ncom",
  perSecond: "many",
  inFlight: "0",
};

test("reports errors by field", () => {
  assert.deepEqual(Object.keys(findErrors(invalid, now)).toSorted(), [
    "block",
    "endUserLimit",
    "expires",
    "inFlight",
    "ips",
    "maxRun",
    "name",
    "only",
    "perSecond",
    "total",
  ]);
});

test("fields that a management key does not have cause no error", () => {
  const errors = findErrors({ ...invalid, mode: "mgmt" }, now);
  assert.deepEqual(Object.keys(errors).toSorted(), ["expires", "ips", "name"]);
});

test("saving an unedited key changes nothing", () => {
  const key = {
    id: "k",
    mode: "live" as const,
    name: "Production",
    start: "pb_live_abc",
    state: "active" as const,
    scopes: ["search"],
    allowed_ips: ["203.0.113.0/24"],
    searches_per_second: 50,
    searches_in_flight: 1_000,
    budget: { total: null, day: { limit: "5.00", spent: "1.00", resets_at: null }, month: null },
    end_user_limit: { amount: "1.00", period: "month" as const },
    budgets: [
      {
        id: "b",
        name: "Team",
        period: "week" as const,
        per: "wallet" as const,
        limit: "9.00",
        spent: "1.00",
        resets_at: null,
      },
    ],
    compat: null,
    external_id: null,
    sources: { block: ["example.com"], only: ["example.org", "xn--bcher-kva.example"] },
    max_run: { max: "0.50", required: true },
    expires_at: "2030-03-01T10:30:00.000Z",
    revoked_at: null,
    revoked_reason: null,
    rotated_from: null,
    last_used_at: null,
    created_at: "2030-01-01T00:00:00.000Z",
    created_by: null,
  };
  assert.deepEqual(toChanges(toDraft(key)), {
    name: key.name,
    allowed_ips: key.allowed_ips,
    expires_at: key.expires_at,
    budget: { total: null, day: "5.00", month: null },
    end_user_limit: key.end_user_limit,
    budgets: ["b"],
    sources: key.sources,
    max_run: { max: "0.50", required: true },
    searches_per_second: 50,
    searches_in_flight: 1_000,
  });
});
