import { activityRoutes } from "../activity/activity-routes.ts";
import type { ServerConfig } from "../config/config.ts";
import type { Pool } from "../db/pool.ts";
import { proofRoute } from "../evidence/proof-route.ts";
import { type ReceiptRouteDependencies, receiptRoutes } from "../evidence/receipt-routes.ts";
import type { Route } from "../http/route.ts";
import { budgetRequestRoutes } from "../keys/budget-request-routes.ts";
import { budgetRoutes } from "../keys/budget-routes.ts";
import { type KeyRouteDependencies, keyRoutes } from "../keys/key-routes.ts";
import type { Guard, Pepper } from "../keys/keys.ts";
import { lensRoutes } from "../lenses/lens-routes.ts";
import type { LensFolder } from "../lenses/lenses.ts";
import { networkOf } from "../lib/network-of.ts";
import type { Secrets } from "../lib/secrets.ts";
import { createSigner } from "../lib/sign-jws.ts";
import type { Admission } from "../limits/admission.ts";
import { createWindowLimit } from "../limits/window-limit.ts";
import { autoTopUpRoutes } from "../payments/auto-top-up-routes.ts";
import type { PaymentProcessor } from "../payments/payments.ts";
import { createStripe } from "../payments/stripe.ts";
import { type TopUpRouteDependencies, topUpRoutes } from "../payments/top-up-routes.ts";
import { webhookRoute } from "../payments/webhook-route.ts";
import type { Router } from "../search/routing.ts";
import type { SearchRunner } from "../search/run-search.ts";
import { searchRoutes } from "../search/search-routes.ts";
import type { Log } from "../telemetry/log.ts";
import { searchListRoutes } from "../usage/search-list-routes.ts";
import { summaryRoutes } from "../usage/summary-routes.ts";
import { usageRoutes } from "../usage/usage-routes.ts";
import { alertRoutes } from "../wallet/routes/alert-routes.ts";
import { endUserRoutes } from "../wallet/routes/end-user-routes.ts";
import { walletRoutes } from "../wallet/routes/wallet-routes.ts";
import type { DataKeys } from "../wallet/wallet.ts";
import { deliveryRoutes } from "../webhooks/delivery-routes.ts";
import { type WebhookRouteDependencies, webhookRoutes } from "../webhooks/webhook-routes.ts";
import type { Connections } from "./connections.ts";

// The documented routes, in the order of the reference. The server and `npm run generate` both take them from here.

export interface ApiDependencies {
  runner: SearchRunner;
  lenses: LensFolder;
  publicUrl: string;
  management: ManagementDependencies;
}

export interface ManagementDependencies
  extends KeyRouteDependencies,
    TopUpRouteDependencies,
    Omit<ReceiptRouteDependencies, "guard">,
    Pick<WebhookRouteDependencies, "secrets" | "allowPrivate" | "limitDeliveries"> {
  /** Receives the processor's webhooks; undefined when no webhook secret is configured. */
  webhookProcessor: PaymentProcessor | undefined;
  payments: Pool | undefined;
  enterWebhook: (address: string) => () => void;
}

export function apiRoutes({ runner, lenses, publicUrl, management }: ApiDependencies): Route[] {
  return [...searchRoutes(runner), ...lensRoutes(lenses, publicUrl), ...managementRoutes(management)];
}

/** The routes a wallet's owner uses, with a management key or, in the console, with a session. */
export function managementRoutes(dependencies: ManagementDependencies): Route[] {
  const { payments, webhookProcessor: processor, enterWebhook } = dependencies;
  return [
    ...walletRoutes(dependencies),
    proofRoute(dependencies),
    ...receiptRoutes(dependencies),
    ...keyRoutes(dependencies),
    ...budgetRoutes(dependencies),
    ...budgetRequestRoutes(dependencies),
    ...searchListRoutes(dependencies),
    ...usageRoutes(dependencies),
    ...summaryRoutes(dependencies),
    ...alertRoutes(dependencies),
    ...endUserRoutes(dependencies),
    ...webhookRoutes(dependencies),
    ...deliveryRoutes(dependencies),
    ...activityRoutes(dependencies),
    ...topUpRoutes(dependencies),
    ...autoTopUpRoutes(dependencies),
    webhookRoute({ payments, processor, enterWebhook }),
  ];
}

interface ManagementServices {
  router: Pick<Router, "maxOnlyDomains">;
  connections: Pick<Connections, "tenantPool" | "paymentsPool" | "redis">;
  admission: Pick<Admission, "enter">;
  secrets: Secrets;
  dataKeys: DataKeys;
}

/** Returns the dependencies of the management routes for the guard they are mounted behind. */
export function createManagement(
  config: ServerConfig,
  log: Log,
  { router, connections, admission, secrets, dataKeys }: ManagementServices,
): (guard: Guard) => ManagementDependencies {
  const { stripeSecretKey: secretKey, stripeWebhookSecrets: webhookSecrets, stripeUrl: url } = config;
  const { webhooksAllowPrivate: allowPrivate } = config;
  if (allowPrivate)
    log.warn("webhooks to private addresses allowed (PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE), do not use in production");
  const processor = secretKey === undefined ? undefined : createStripe({ secretKey, webhookSecrets, url });
  const signer = createSigner(config.signingSeeds);
  const limitDeliveries = createWindowLimit(connections.redis, {
    name: "deliveries",
    limit: "wallet_requested_deliveries",
    max: config.deliveriesPerMinute,
    windowSeconds: 60,
    fault: `The wallet has reached the limit of ${config.deliveriesPerMinute} test events and replays per minute. Nothing was sent`,
  });
  return (guard) => ({
    tenant: connections.tenantPool,
    payments: connections.paymentsPool,
    guard,
    pepper: writingPepper(config),
    maxOnlyDomains: router.maxOnlyDomains,
    sharedLimits: {
      live: { searchesPerSecond: config.walletRate, searchesInFlight: config.walletInFlight },
      test: { searchesPerSecond: config.walletTestRate, searchesInFlight: config.walletTestInFlight },
    },
    secrets,
    dataKeys,
    allowPrivate,
    limitDeliveries,
    processor,
    webhookProcessor: webhookSecrets.length > 0 ? processor : undefined,
    enterWebhook: (address) => admission.enter("webhooks", networkOf(address)),
    minAmount: config.topUpMin,
    maxAmount: config.topUpMax,
    returnUrl: topUpPage(config),
    signer,
    publicUrl: config.publicUrl,
  });
}

/** The page where a wallet's owner adds money: the console's, if sign-in is configured. */
export function topUpPage({ topUpUrl, peopleDatabaseUrl, publicUrl }: ServerConfig): string {
  return (
    topUpUrl ?? `${publicUrl}/${peopleDatabaseUrl === undefined ? "problems/insufficient_balance" : "console/top-up"}`
  );
}

function writingPepper({ keyPeppers: [first] }: ServerConfig): Pepper {
  if (!first) throw new Error("the configuration has no pepper, although it was validated");
  return first;
}
