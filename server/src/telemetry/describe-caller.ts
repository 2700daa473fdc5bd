/** The fields of a log line about a request with a key. */
export function describeCaller(caller: { walletId: string; keyId: string }): { wallet: string; key: string } {
  return { wallet: caller.walletId, key: caller.keyId };
}
