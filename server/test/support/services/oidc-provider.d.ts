// The part of oidc-provider that the tests use. It ships no types.
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  interface Account {
    accountId: string;
    claims(): Record<string, unknown> & { sub: string };
  }

  export class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    callback(): RequestListener;
    on(event: string, listener: (...given: unknown[]) => void): void;
  }

  export type FindAccount = (context: unknown, id: string) => Account;
}
