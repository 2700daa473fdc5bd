import { createHash } from "node:crypto";

// Wallets and keys have numbers, and their ids follow from them, here and in SQL: nobody needs a list of ten million.

const walletsSinceMs = 1_700_000_000_000;
const versionSeven = 0x7000n;
const spread = 2_654_435_761n;
const ofKey = 1n << 58n;

export interface NumberedWallet {
  walletId: string;
  keyId: string;
}

export function numberedWallet(number: number): NumberedWallet {
  const ms = BigInt(walletsSinceMs + number * 1_000);
  const tail = BigInt(number) * spread;
  return { walletId: toUuid(ms, tail), keyId: toUuid(ms, tail | ofKey) };
}

/** What stands for a key that nobody has: the ledger never sees more of one. */
export function numberedDigest(number: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(number));
  return createHash("sha256").update(bytes).digest();
}

function toUuid(ms: bigint, tail: bigint): string {
  const first = ((ms << 16n) | versionSeven).toString(16).padStart(16, "0");
  const hex = first + ((1n << 63n) | tail).toString(16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** SQL for the same, of SQL for the number, which must be a bigint. */
export const sql = {
  wallet: (number: string): string => uuid(walletMs(number), `${number} * ${spread}`),
  key: (number: string): string => uuid(walletMs(number), `${number} * ${spread} | ${ofKey}`),
  digest: (number: string): string => `sha256(int8send(${number}))`,
  walletMs,
  /** Of the row of the ledger with this number, of this moment. */
  row: (number: string, ms: string): string => uuid(ms, `${number} * ${spread}`),
};

function walletMs(number: string): string {
  return `(${walletsSinceMs} + ${number} * 1000)`;
}

// Bytes, not text put together: a third of the time, a hundred million times.
function uuid(ms: string, tail: string): string {
  return `encode(int8send((${ms} << 16) | ${versionSeven}) || int8send((-9223372036854775808)::bigint | ${tail}), 'hex')::uuid`;
}
