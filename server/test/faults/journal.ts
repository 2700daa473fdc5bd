import type { TestWallet } from "../support/services/server.ts";

// What our clients saw, written down by them and by nobody else. audit.ts compares it with the ledger.

export interface JournalEntry {
  walletId: string;
  idempotencyKey: string | undefined;
  seen: Seen;
}

export type Seen = Answered | Unanswered;

export interface Answered {
  kind: "answered";
  status: number;
  code: string | undefined;
  requestId: string;
  /** The header as it came. */
  charge: string;
  isReplayed: boolean;
  text: string;
}

export interface Unanswered {
  /** Closed: the request was sent and no whole answer came. Refused: there was nobody to send it to. */
  kind: "closed" | "refused";
}

export interface Question {
  wallet: TestWallet;
  query: string;
  idempotencyKey?: string | undefined;
}

export class Journal {
  readonly entries: JournalEntry[] = [];

  /** Asks once, whatever comes of it, and writes it down. */
  async search(serverUrl: string, question: Question): Promise<Seen> {
    const seen = await ask(serverUrl, question);
    this.entries.push({ walletId: question.wallet.walletId, idempotencyKey: question.idempotencyKey, seen });
    return seen;
  }
}

async function ask(serverUrl: string, { wallet, query, idempotencyKey }: Question): Promise<Seen> {
  try {
    const response = await fetch(`${serverUrl}/v1/search`, {
      method: "POST",
      headers: {
        "x-api-key": wallet.live,
        "content-type": "application/json",
        ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
      },
      body: JSON.stringify({ query }),
      // Longer than a server may take to say that it does not know.
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    const { code } = JSON.parse(text) as { code?: string };
    return {
      kind: "answered",
      status: response.status,
      code,
      requestId: response.headers.get("request-id") ?? "",
      charge: response.headers.get("wallet-charge") ?? "",
      isReplayed: response.headers.get("idempotent-replayed") === "true",
      text,
    };
  } catch (error) {
    // A SyntaxError would be an answer of ours that is not JSON; a time-out, a server that hangs.
    const cause = error instanceof TypeError ? error.cause : undefined;
    if (!(cause instanceof Error)) throw error;
    return { kind: "code" in cause && cause.code === "ECONNREFUSED" ? "refused" : "closed" };
  }
}
