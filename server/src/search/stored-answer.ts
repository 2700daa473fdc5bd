// The stored answer for a retry with the same Idempotency-Key, before encryption: the body, a line feed, and other data that the retry
// needs. The body is JSON on one line.

export interface StoredAnswer {
  body: Buffer;
  /** The key that searched. Another key of the wallet can have another source policy. */
  keyId: string;
  /** The number of results that the source policy removed. Undefined without a policy. */
  filtered?: number | undefined;
}

export function encodeStoredAnswer({ body, ...rest }: StoredAnswer): Buffer {
  return Buffer.concat([body, Buffer.from(`\n${JSON.stringify(rest)}`)]);
}

export function decodeStoredAnswer(stored: Buffer): StoredAnswer {
  const end = stored.lastIndexOf("\n");
  const rest = JSON.parse(stored.toString("utf8", end + 1)) as Omit<StoredAnswer, "body">;
  return { ...rest, body: stored.subarray(0, end) };
}
