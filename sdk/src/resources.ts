// The resources of the client: `pennyblack.keys.list()`, `pennyblack.webhooks.create()` and so on. All require a
// management key, except lenses, which are public.

import type {
  Activity,
  ActivityList,
  AlertSettings,
  AutoTopUp,
  Budget,
  BudgetRequest,
  Category,
  CreateBudgetRequest,
  CreateBudgetRequestRequest,
  CreatedKey,
  CreatedWebhook,
  CreateKeyRequest,
  CreateTopUpRequest,
  CreateWebhookRequest,
  DeletedWebhook,
  Delivery,
  EndUserSettings,
  Key,
  Lens,
  LensInspection,
  Receipt,
  RotatedWebhookSecret,
  Run,
  Search,
  SearchDetails,
  SearchList,
  SetAutoTopUpRequest,
  TopUp,
  UpdateBudgetRequest,
  UpdateKeyRequest,
  UpdateWebhookRequest,
  Webhook,
} from "./api.ts";
import type { Pages } from "./pages.ts";
import {
  type CallOptions,
  checkIdempotencyKey,
  type ListOptions,
  type Requests,
  type TimeRange,
  toIsoString,
} from "./requests.ts";

export function createKeys({ get, list, once, repeat }: Requests) {
  return {
    list: ({ limit, ...options }: ListOptions = {}): Pages<Key> => list("/v1/keys", "keys", { limit }, options),
    get: (id: string, options?: CallOptions): Promise<Key> => get(toPath("keys", id), {}, options),
    /** Creates a key. Only this response contains the secret. Not retried if no response arrives. */
    create: (key: CreateKeyRequest, options?: CallOptions): Promise<CreatedKey> =>
      once({ method: "POST", path: "/v1/keys", body: key }, options),
    update: (id: string, changes: UpdateKeyRequest, options?: CallOptions): Promise<Key> =>
      repeat({ method: "PATCH", path: toPath("keys", id), body: changes }, options),
    /** Creates a replacement. The old key keeps working for `graceSeconds`. Not retried if no response arrives. */
    rotate: (id: string, { graceSeconds, ...options }: CallOptions & { graceSeconds: number }): Promise<CreatedKey> =>
      once({ method: "POST", path: `${toPath("keys", id)}/rotate`, body: { grace_seconds: graceSeconds } }, options, [
        "graceSeconds",
      ]),
    revoke: (id: string, options?: CallOptions): Promise<Key> =>
      repeat({ method: "DELETE", path: toPath("keys", id) }, options),
  };
}

export function createBudgets({ get, list, once, repeat }: Requests) {
  return {
    list: ({ limit, ...options }: ListOptions = {}): Pages<Budget> =>
      list("/v1/budgets", "budgets", { limit }, options),
    get: (id: string, options?: CallOptions): Promise<Budget> => get(toPath("budgets", id), {}, options),
    /** Creates a budget that keys can name in `budgets`. Not retried if no response arrives. */
    create: (budget: CreateBudgetRequest, options?: CallOptions): Promise<Budget> =>
      once({ method: "POST", path: "/v1/budgets", body: budget }, options),
    update: (id: string, changes: UpdateBudgetRequest, options?: CallOptions): Promise<Budget> =>
      repeat({ method: "PATCH", path: toPath("budgets", id), body: changes }, options),
    /** Asks a person to raise a shared budget of this client's key. Equal requests are one as long as it is open. */
    request: (request: CreateBudgetRequestRequest, options?: CallOptions): Promise<BudgetRequest> =>
      repeat({ method: "POST", path: "/v1/key/budget-requests", body: request }, options),
    /** Archives a budget that no key names. */
    archive: (id: string, options?: CallOptions): Promise<Budget> =>
      repeat({ method: "DELETE", path: toPath("budgets", id) }, options),
  };
}

export function createTopUps({ get, list, repeat }: Requests) {
  return {
    /** Starts a top-up. `amount` is in USD, such as "20.00"; pay at the returned `checkout_url`. */
    create: (
      { idempotencyKey = crypto.randomUUID(), ...body }: CreateTopUpRequest & { idempotencyKey?: string },
      options?: CallOptions,
    ): Promise<TopUp> =>
      repeat(
        {
          method: "POST",
          path: "/v1/wallet/top-ups",
          body,
          idempotencyKey: checkIdempotencyKey(idempotencyKey),
        },
        options,
      ),
    list: ({ limit, ...options }: ListOptions = {}): Pages<TopUp> =>
      list("/v1/wallet/top-ups", "top_ups", { limit }, options),
    get: (id: string, options?: CallOptions): Promise<TopUp> => get(toPath("wallet/top-ups", id), {}, options),
    /** Returns the signed receipt of a top-up. Check it with `verifyReceipt`. */
    receipt: (id: string, options?: CallOptions): Promise<Receipt> =>
      get(`${toPath("wallet/top-ups", id)}/receipt`, {}, options),
  };
}

export function createAutoTopUp({ get, repeat }: Requests) {
  const path = "/v1/wallet/auto-top-up";
  return {
    get: (options?: CallOptions): Promise<AutoTopUp> => get(path, {}, options),
    /** Turns automatic top-ups on, or replaces their settings. The next paid checkout saves its card. */
    update: (settings: SetAutoTopUpRequest, options?: CallOptions): Promise<AutoTopUp> =>
      repeat({ method: "PUT", path, body: settings }, options),
    /** Turns automatic top-ups off and deletes the saved card. */
    delete: (options?: CallOptions): Promise<AutoTopUp> => repeat({ method: "DELETE", path }, options),
  };
}

export function createAlerts({ get, repeat }: Requests) {
  const path = "/v1/wallet/alerts";
  return {
    get: (options?: CallOptions): Promise<AlertSettings> => get(path, {}, options),
    /** Replaces both settings. */
    update: (settings: AlertSettings, options?: CallOptions): Promise<AlertSettings> =>
      repeat({ method: "PUT", path, body: settings }, options),
  };
}

export function createEndUsers({ get, repeat }: Requests) {
  const path = "/v1/wallet/end-users";
  return {
    get: (options?: CallOptions): Promise<EndUserSettings> => get(path, {}, options),
    update: (settings: EndUserSettings, options?: CallOptions): Promise<EndUserSettings> =>
      repeat({ method: "PUT", path, body: settings }, options),
  };
}

export function createWebhooks({ get, list, once, repeat }: Requests) {
  return {
    list: (options: CallOptions = {}): Pages<Webhook> => list("/v1/webhooks", "endpoints", {}, options),
    get: (id: string, options?: CallOptions): Promise<Webhook> => get(toPath("webhooks", id), {}, options),
    /** Creates a webhook. Only this response contains its signing secret. Not retried if no response arrives. */
    create: (webhook: CreateWebhookRequest, options?: CallOptions): Promise<CreatedWebhook> =>
      once({ method: "POST", path: "/v1/webhooks", body: webhook }, options),
    update: (id: string, changes: UpdateWebhookRequest, options?: CallOptions): Promise<Webhook> =>
      repeat({ method: "PATCH", path: toPath("webhooks", id), body: changes }, options),
    delete: (id: string, options?: CallOptions): Promise<DeletedWebhook> =>
      repeat({ method: "DELETE", path: toPath("webhooks", id) }, options),
    /** Creates a new signing secret. Until `previous_secret_until`, deliveries are signed with both. */
    rotateSecret: (id: string, options?: CallOptions): Promise<RotatedWebhookSecret> =>
      once({ method: "POST", path: `${toPath("webhooks", id)}/rotate-secret` }, options),
    /** Queues a `webhook.test` event for this webhook. */
    test: (id: string, options?: CallOptions): Promise<Delivery> =>
      once({ method: "POST", path: `${toPath("webhooks", id)}/test` }, options),
    deliveries: {
      /** Lists the deliveries of a webhook, newest first. */
      list: (webhookId: string, { limit, ...options }: ListOptions = {}): Pages<Delivery> =>
        list(`${toPath("webhooks", webhookId)}/deliveries`, "deliveries", { limit }, options),
      /** Queues a new delivery of the same event. */
      replay: (id: string, options?: CallOptions): Promise<Delivery> =>
        once({ method: "POST", path: `${toPath("webhooks/deliveries", id)}/replay` }, options),
    },
  };
}

export interface ListSearchesOptions extends ListOptions, TimeRange {
  /** "refused" and "replayed" are requests without a hold, of the last 7 days. Default: "search". */
  kind?: Search["kind"] | "all";
  /** "ok", "failed" for every other outcome, or a single outcome such as "upstream_timeout". */
  outcome?: string;
  keyId?: string;
  /** The id of an end user, or an `end_user` of a response. */
  for?: string;
  mode?: Search["mode"];
  /** "none" for searches without a category. */
  category?: Category | "none";
  /** Name of the run. */
  run?: string;
}

export function createSearches({ get, list }: Requests) {
  return {
    /**
     * Lists finished searches, newest first. With `kind`, also refused and replayed requests; `unlisted` of a page is the
     * number of those that are not stored individually. Queries are not included.
     */
    list: (filter: ListSearchesOptions = {}): Pages<Search, Omit<SearchList, "searches" | "next_cursor">> => {
      const { kind, outcome, keyId, for: endUser, mode, category, run, from, to, limit, ...options } = filter;
      const range = { from: toIsoString(from), to: toIsoString(to) };
      const query = { kind, outcome, key_id: keyId, for: endUser, mode, category, run, ...range, limit };
      return list("/v1/searches", "searches", query, options);
    },
    /** Returns a search with its charge and refund, by its request id. */
    get: (requestId: string, options?: CallOptions): Promise<SearchDetails> =>
      get(toPath("searches", requestId), {}, options),
  };
}

export function createRuns({ list }: Requests) {
  return {
    /** Lists runs that are open or ended within the last hour. `from`: only runs started since then. */
    list: ({ from, limit, ...options }: ListOptions & Pick<TimeRange, "from"> = {}): Pages<Run> =>
      list("/v1/runs", "runs", { from: toIsoString(from), limit }, options),
  };
}

export interface ActivityFilter extends TimeRange {
  /** An act such as "key.change", or all acts of a subject, such as "key". */
  act?: string;
  actor?: Activity["actor"]["type"];
  /** The id of a person or key. */
  actorId?: string;
  /** The id of the changed subject. */
  subjectId?: string;
}

export function createActivity({ getText, list }: Requests) {
  const split = <Rest>({ act, actor, actorId, subjectId, from, to, ...options }: ActivityFilter & Rest) => {
    const filter = { act, actor, actor_id: actorId, subject_id: subjectId };
    return { query: { ...filter, from: toIsoString(from), to: toIsoString(to) }, options };
  };
  return {
    /** Lists who changed what in the last 400 days, newest first. */
    list: ({ limit, ...rest }: ListOptions & ActivityFilter = {}): Pages<Activity, Pick<ActivityList, "since">> => {
      const { query, options } = split<CallOptions>(rest);
      return list("/v1/activity", "activity", { ...query, limit }, options);
    },
    /** Returns the same lines as JSON Lines, oldest first. */
    export: (filter: CallOptions & ActivityFilter = {}): Promise<string> => {
      const { query, options } = split<CallOptions>(filter);
      return getText("/v1/activity.jsonl", "application/jsonl", query, options);
    },
  };
}

export function createLenses({ get, getText, list }: Requests) {
  return {
    /** Lists the published ranking rules. */
    list: (options: CallOptions = {}): Pages<Lens> => list("/v1/lenses", "lenses", {}, options),
    /** Returns the text of a lens: one rule per line, each with its reason. */
    get: (name: string, options?: CallOptions): Promise<string> =>
      getText(toPath("lenses", name), "text/plain", {}, options),
    /** Returns the tier of a page in a lens, and the rule or published list behind it. */
    inspect: (name: string, url: string, options?: CallOptions): Promise<LensInspection> =>
      get(`${toPath("lenses", name)}/inspect`, { url }, options),
  };
}

export function toPath(collection: string, id: string): string {
  return `/v1/${collection}/${encodeURIComponent(id)}`;
}
