import { createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { seal, unseal } from "./seal.ts";
import type { Secrets } from "./secrets.ts";

// A data key is 32 random bytes, stored sealed under PENNYBLACK_SECRET for its owner: a wallet, or the installation. The keys
// that are used are derived from it, one for each purpose.

const labels = {
  /** Finds the claim of an Idempotency-Key. */
  claim: "claim",
  /** Detects another body with the same Idempotency-Key. */
  fingerprint: "fingerprint",
  /** Encrypts stored answers, together with the Idempotency-Key. */
  answer: "answer",
  /** Claims of top-ups. */
  topUp: "top-up",
  endUser: "end user",
  /** Addresses that had a trial, under the key of the installation. */
  trialAddress: "trial address",
} as const;

export type DataKey = Readonly<Record<keyof typeof labels, KeyObject>>;

/** The owner of the data key that accounts share. */
export const installation = "00000000-0000-0000-0000-000000000000";

export function sealNewDataKey(secrets: Pick<Secrets, "writer">, owner: string): Buffer {
  return seal(secrets, purposeOfDataKey(owner), randomBytes(32).toString("base64"));
}

/** Throws CannotUnseal if no listed secret opens it. */
export function openDataKey(secrets: Pick<Secrets, "all">, owner: string, sealed: Buffer): DataKey {
  const key = createSecretKey(unseal(secrets, purposeOfDataKey(owner), sealed), "base64");
  const derive = (label: string): KeyObject => createSecretKey(createHmac("sha256", key).update(label).digest());
  const derived = Object.entries(labels).map(([name, label]) => [name, derive(label)] as const);
  return Object.fromEntries(derived) as DataKey;
}

export function purposeOfDataKey(owner: string): string {
  return `data key\0${owner}`;
}
