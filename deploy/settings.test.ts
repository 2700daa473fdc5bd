import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { serverSettings, workerSettings } from "../server/src/config/config.ts";

// Every setting must either be set in deploy/compose.yaml and documented in the Helm chart's values, or be listed here as
// left to the operator. This catches new settings that no deployment passes on.

const read = (path: string): string => readFileSync(join(import.meta.dirname, path), "utf8");
const { services } = parse(read("compose.yaml"), { merge: true }) as {
  services: Record<string, { environment: Record<string, string>; env_file: string[] }>;
};
const ownServices = ["server", "worker", "migrate", "admin"];

/** Optional settings, which operators set in settings.env or in the chart's "settings" or secrets. */
const operatorSettings = [
  "HOST",
  "PORT",
  // For the worker, only with retention.
  "PENNYBLACK_DIRECT_DATABASE_URL",
  "PENNYBLACK_DATABASE_POOLER",
  "PENNYBLACK_OPS_HOST",
  "PENNYBLACK_OPS_PORT",
  "PENNYBLACK_PUBLIC_URL",
  "PENNYBLACK_UPSTREAMS",
  "PENNYBLACK_OPERATORS",
  "PENNYBLACK_HEAP_SNAPSHOTS",
  "PENNYBLACK_LENSES",
  "PENNYBLACK_REGISTRIES",
  "PENNYBLACK_TOP_UP_URL",
  "PENNYBLACK_TOP_UP_MIN",
  "PENNYBLACK_TOP_UP_MAX",
  "PENNYBLACK_STRIPE_SECRET_KEY",
  "PENNYBLACK_STRIPE_WEBHOOK_SECRET",
  "PENNYBLACK_STRIPE_URL",
  "PENNYBLACK_SECURITY_CONTACT",
  "PENNYBLACK_TRUSTED_PROXIES",
  "PENNYBLACK_MCP_HOSTS",
  "PENNYBLACK_SERVERS",
  "PENNYBLACK_MAX_IN_FLIGHT",
  "PENNYBLACK_WALLET_SHARE",
  "PENNYBLACK_WALLET_RATE",
  "PENNYBLACK_WALLET_IN_FLIGHT",
  "PENNYBLACK_WALLET_TEST_RATE",
  "PENNYBLACK_WALLET_TEST_IN_FLIGHT",
  "PENNYBLACK_DRAIN_MS",
  "PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE",
  "PENNYBLACK_SMTP_URL",
  "PENNYBLACK_MAIL_FROM",
  "PENNYBLACK_SIGN_UP",
  "PENNYBLACK_OIDC_ISSUER",
  "PENNYBLACK_OIDC_CLIENT_ID",
  "PENNYBLACK_OIDC_CLIENT_SECRET",
  "PENNYBLACK_OIDC_NAME",
  "PENNYBLACK_RETENTION_DAYS",
  "PENNYBLACK_RETENTION_TEST_DAYS",
  "PENNYBLACK_ARCHIVE",
  "PENNYBLACK_ROOTS",
  "PENNYBLACK_LOG_LEVEL",
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_TRACES_SAMPLER",
  "OTEL_TRACES_SAMPLER_ARG",
];

const source = read("../server/src/config/config.ts");
const variables = new Map(
  [...source.matchAll(/^ {2}(\w+): \{\s*variable: "(\w+)"/gm)].map(([, name = "", variable = ""]) => [name, variable]),
);

const processes = [
  ["server", serverSettings],
  ["worker", workerSettings],
] as const;
for (const [service, names] of processes) {
  test(`compose sets every setting of the ${service} that is not left to the operator`, () => {
    const expected = names.map((name) => variables.get(name) ?? `variable of ${name}`);
    const provided = Object.keys(services[service]?.environment ?? {});
    const missing = expected.filter((name) => !provided.includes(name) && !operatorSettings.includes(name));
    const fix = "set it in deploy/compose.yaml, or add it to operatorSettings in deploy/settings.test.ts";
    assert.deepEqual(missing, [], fix);
    assert.deepEqual(
      provided.filter((name) => operatorSettings.includes(name)),
      [],
      "settings.env cannot override a setting in compose.yaml",
    );
  });
}

test("compose passes settings.env to each of our services, and every operator setting exists", () => {
  for (const name of ownServices) assert.deepEqual(services[name]?.env_file, ["settings.env"], name);
  const known = new Set(variables.values());
  assert.deepEqual(
    operatorSettings.filter((name) => !known.has(name)),
    [],
  );
});

test("migrations get every database URL that the server and the worker use", () => {
  const addresses = (service: string): string[] =>
    Object.keys(services[service]?.environment ?? {}).filter((name) => name.endsWith("DATABASE_URL"));
  const created = addresses("migrate");
  assert.deepEqual(
    [...addresses("server"), ...addresses("worker")].filter((name) => !created.includes(name)),
    [],
  );
});

test("the chart's values document every variable that compose sets for each service", () => {
  const comments = new Map(
    [...read("helm/pennyblack/values.yaml").matchAll(/((?:^ {2}#.*\n)+) {2}(\w+): pennyblack-/gm)].map(
      ([, comment = "", name = ""]) => [name, comment],
    ),
  );
  for (const service of ["server", "worker", "migrate"]) {
    const provided = Object.keys(services[service]?.environment ?? {}).filter(
      (name) => name !== "PENNYBLACK_SEARXNG_URL",
    );
    const comment = comments.get(service) ?? "";
    const undocumented = provided.filter((name) => !new RegExp(`\\b${name}\\b`).test(comment));
    assert.deepEqual(undocumented, [], `edit deploy/helm/pennyblack/values.yaml: the comment of secrets.${service}`);
  }
});
