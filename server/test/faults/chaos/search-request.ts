import type { TestWallet } from "../../support/services/server.ts";

export interface Question {
  wallet: TestWallet;
  query: string;
  idempotencyKey?: string;
  run?: string;
}

export function headersOf({ wallet, idempotencyKey, run }: Question): Record<string, string> {
  return {
    "x-api-key": wallet.live,
    "content-type": "application/json",
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    ...(run === undefined ? {} : { "search-run": `${run}; max=0.50; ttl=600` }),
  };
}
