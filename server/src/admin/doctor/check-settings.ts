import type { Config, serverSettings, workerSettings } from "../../config/config.ts";
import type { Constants } from "../../config/constants.ts";
import { formatUsd, priceMicros } from "../../lib/money.ts";
import { error, type Finding, findingsOf, warning } from "./finding.ts";

export type DoctorConfig = Pick<
  Config,
  (typeof serverSettings)[number] | (typeof workerSettings)[number] | "directDatabaseUrl"
> &
  Constants;

/** Settings that are valid individually but wrong in combination or in production. */
export function checkSettings(config: DoctorConfig): Finding[] {
  const { protocol, hostname } = new URL(config.publicUrl);
  const isPublic = !isLoopback(hostname);
  return findingsOf(
    isPublic &&
      protocol === "http:" &&
      error(
        "PENNYBLACK_PUBLIC_URL uses http, so API keys cross the network unencrypted.",
        "Put a TLS proxy in front of the server and set an https URL.",
      ),
    protocol === "https:" &&
      config.trustedProxies.length === 0 &&
      error(
        "PENNYBLACK_TRUSTED_PROXIES is empty, but the proxy that serves https forwards every request. All clients share its address and one limit for invalid keys, and allowed_ips of keys never match.",
        "List the addresses of the proxy.",
      ),
    config.servers > 1 &&
      config.redisUrl === undefined &&
      error(
        `PENNYBLACK_SERVERS is ${config.servers}, but REDIS_URL is not set. Servers cannot share limits.`,
        "Set REDIS_URL for all servers.",
      ),
    isPublic &&
      config.webhooksAllowPrivate &&
      error(
        "PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE is true. Customers can make the worker send requests to your internal network.",
        "Remove the setting. It is for development.",
      ),
    ...checkPayments(config, isPublic),
    ...checkUpstreams(config),
    config.peopleDatabaseUrl !== undefined &&
      config.smtpUrl === undefined &&
      config.oidcIssuer === undefined &&
      warning(
        "The console is enabled, but sign-in emails cannot be sent.",
        "Set PENNYBLACK_SMTP_URL and PENNYBLACK_MAIL_FROM, or PENNYBLACK_OIDC_ISSUER.",
      ),
    config.signingSeeds.length === 0 &&
      warning(
        "PENNYBLACK_SIGNING_KEYS is not set. Receipts are not signed.",
        "Set it to the output of: openssl rand -base64 32",
      ),
  );
}

function checkPayments(config: DoctorConfig, isPublic: boolean): Finding[] {
  return findingsOf(
    isPublic &&
      config.stripeSecretKey?.startsWith("sk_test_") &&
      error(
        "PENNYBLACK_STRIPE_SECRET_KEY is a test key. Top-ups with test cards add real balance.",
        "Set the live key of your Stripe account.",
      ),
    config.stripeSecretKey !== undefined &&
      config.stripeWebhookSecrets.length === 0 &&
      error(
        "PENNYBLACK_STRIPE_WEBHOOK_SECRET is not set. Payments are credited only by the comparison with Stripe every five minutes.",
        "Create a webhook endpoint in Stripe and set its signing secret.",
      ),
  );
}

function checkUpstreams({ upstreams }: DoctorConfig): Finding[] {
  if (upstreams.length === 0)
    return [
      error(
        "No upstream is configured. Searches with live keys fail.",
        "Configure one, for example PENNYBLACK_BRAVE_KEY. See: npm run providers -- list",
      ),
    ];
  return upstreams
    .map(({ keys: [{ provider }] }) => provider)
    .filter((provider) => provider.costMicros(20) > priceMicros)
    .map((provider) =>
      warning(
        `A search with ${provider.name} costs ${formatUsd(provider.costMicros(20))} USD, more than its price of ${formatUsd(priceMicros)} USD.`,
        "Remove it, or place it last in PENNYBLACK_UPSTREAMS.",
      ),
    );
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
