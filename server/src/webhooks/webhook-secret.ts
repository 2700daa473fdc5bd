import { type KeyObject, randomBytes } from "node:crypto";
import { seal, unseal } from "../lib/seal.ts";

// An endpoint's secret is shown once, when it is created. It is stored encrypted, with a key derived from the server secret
// and the endpoint's id: a copy of the database alone cannot sign, and a sealed secret copied to another endpoint cannot
// be opened.

export function mintWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

export function sealSecret(key: KeyObject, endpointId: string, secret: string): Buffer {
  return seal(key, purposeOf(endpointId), secret);
}

export function openSecret(key: KeyObject, endpointId: string, sealed: Buffer): string {
  return unseal(key, purposeOf(endpointId), sealed);
}

function purposeOf(endpointId: string): string {
  return `webhook secret\0${endpointId}`;
}
