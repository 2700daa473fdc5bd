import { randomBytes } from "node:crypto";
import type { Queryable } from "../db/pool.ts";
import { resealColumn } from "../db/reseal-column.ts";
import { seal, unseal } from "../lib/seal.ts";
import type { Resealed, Secrets } from "../lib/secrets.ts";

// An endpoint's secret is shown once, when it is created. It is stored encrypted, with a key derived from the server secret
// and the endpoint's id: a copy of the database alone cannot sign, and a sealed secret copied to another endpoint cannot
// be opened.

export function mintWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

export function sealSecret(secrets: Secrets, endpointId: string, secret: string): Buffer {
  return seal(secrets, purposeOf(endpointId), secret);
}

export function openSecret(secrets: Secrets, endpointId: string, sealed: Buffer): string {
  return unseal(secrets, purposeOf(endpointId), sealed);
}

/** Seals the secrets of all endpoints under the first secret. */
export async function resealWebhookSecrets(db: Queryable, secrets: Secrets): Promise<Resealed> {
  const table = "pb.webhook_endpoints";
  const current = await resealColumn(db, secrets, { table, column: "secret", purposeOf });
  const previous = await resealColumn(db, secrets, { table, column: "previous_secret", purposeOf });
  return {
    resealed: current.resealed + previous.resealed,
    current: current.current + previous.current,
    failed: current.failed + previous.failed,
  };
}

function purposeOf(endpointId: string): string {
  return `webhook secret\0${endpointId}`;
}
