import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { serverSettings, workerSettings } from "../server/src/config.ts";

// A setting that the server learns to read is of no use to those whose deployment never passes it on. Here each one is either
// wired by deploy/compose.yaml, and named where deploy/helm asks for it, or left to the operator on purpose.

const read = (path: string): string => readFileSync(join(import.meta.dirname, path), "utf8");
const { services } = parse(read("compose.yaml"), { merge: true }) as {
  services: Record<string, { environment: Record<string, string>; env_file: string[] }>;
};
const ours = ["server", "worker", "migrate", "admin"];

/** What is good as it is, or is for the operator to decide: in settings.env, in the chart's "settings" or its secrets. */
const leftToOperators = [
  "HOST",
  "PORT",
  "PENNYBLACK_OPS_HOST",
  "PENNYBLACK_OPS_PORT",
  "PENNYBLACK_PUBLIC_URL",
  "PENNYBLACK_UPSTREAMS",
  "PENNYBLACK_OPERATORS",
  "PENNYBLACK_LENSES",
  "PENNYBLACK_TOP_UP_URL",
  "PENNYBLACK_TOP_UP_MIN",
  "PENNYBLACK_TOP_UP_MAX",
  "PENNYBLACK_STRIPE_SECRET_KEY",
  "PENNYBLACK_STRIPE_WEBHOOK_SECRET",
  "PENNYBLACK_STRIPE_URL",
  "PENNYBLACK_SECURITY_CONTACT",
  "PENNYBLACK_TRUSTED_PROXIES",
  "PENNYBLACK_SERVERS",
  "PENNYBLACK_DRAIN_MS",
  "PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE",
  "PENNYBLACK_SMTP_URL",
  "PENNYBLACK_MAIL_FROM",
  "PENNYBLACK_SIGN_UP",
  "PENNYBLACK_TRIAL_CREDIT",
  "PENNYBLACK_TRIALS_PER_DAY",
  "PENNYBLACK_OIDC_ISSUER",
  "PENNYBLACK_OIDC_CLIENT_ID",
  "PENNYBLACK_OIDC_CLIENT_SECRET",
  "PENNYBLACK_OIDC_NAME",
  "PENNYBLACK_RETENTION_DAYS",
  "PENNYBLACK_ARCHIVE",
  "PENNYBLACK_LOG_LEVEL",
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_TRACES_SAMPLER",
  "OTEL_TRACES_SAMPLER_ARG",
];

const source = read("../server/src/config.ts");
const variables = new Map(
  [...source.matchAll(/^ {2}(\w+): \{\s*variable: "(\w+)"/gm)].map(([, name = "", variable = ""]) => [name, variable]),
);

const processes = [
  ["server", serverSettings],
  ["worker", workerSettings],
] as const;
for (const [service, names] of processes) {
  test(`compose gives the ${service} each of its settings, or leaves it to the operator on purpose`, () => {
    const wanted = names.map((name) => variables.get(name) ?? `the variable of ${name}`);
    const given = Object.keys(services[service]?.environment ?? {});
    const forgotten = wanted.filter((name) => !given.includes(name) && !leftToOperators.includes(name));
    assert.deepEqual(forgotten, []);
    assert.deepEqual(
      given.filter((name) => leftToOperators.includes(name)),
      [],
      "what compose sets, settings.env cannot change",
    );
  });
}

test("compose lets operators set the rest, for each of our processes", () => {
  for (const name of ours) assert.deepEqual(services[name]?.env_file, ["settings.env"], name);
  const known = new Set(variables.values());
  assert.deepEqual(
    leftToOperators.filter((name) => !known.has(name)),
    [],
  );
});

test("migrations make a role for every database address that a server has", () => {
  const addresses = (service: string): string[] =>
    Object.keys(services[service]?.environment ?? {}).filter((name) => name.endsWith("DATABASE_URL"));
  const made = addresses("migrate");
  assert.deepEqual(
    [...addresses("server"), ...addresses("worker")].filter((name) => !made.includes(name)),
    [],
  );
});

test("the chart's values say of each secret what compose gives that process", () => {
  const comments = new Map(
    [...read("helm/pennyblack/values.yaml").matchAll(/((?:^ {2}#.*\n)+) {2}(\w+): pennyblack-/gm)].map(
      ([, comment = "", name = ""]) => [name, comment],
    ),
  );
  for (const service of ["server", "worker", "migrate"]) {
    const given = Object.keys(services[service]?.environment ?? {}).filter((name) => name !== "PENNYBLACK_SEARXNG_URL");
    const comment = comments.get(service) ?? "";
    const unnamed = given.filter((name) => !new RegExp(`\\b${name}\\b`).test(comment));
    assert.deepEqual(unnamed, [], `secrets.${service}`);
  }
});
