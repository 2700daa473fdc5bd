import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { TestWallet } from "../../support/services/server.ts";
import type { Journal, Question, Seen } from "../journal.ts";

// Callers as they are: some send an Idempotency-Key and try again until they have their answer, some do not and go on
// to the next question.

export interface Load {
  /** How long until a search that is sent from now on is answered 200. */
  timeToServe(): Promise<number>;
  answered(): number;
  /** Ends when every search in flight has. Says which questions with a key are still without an answer. */
  stop(): Promise<Question[]>;
}

export interface LoadOptions {
  journal: Journal;
  serverUrls: readonly string[];
  wallets: readonly TestWallet[];
  clients: number;
}

export function startLoad({ journal, serverUrls, wallets, clients }: LoadOptions): Load {
  const load = { isOn: true, answered: 0 };
  const unfinished: Question[] = [];
  const waitingForService = new Set<{ since: number; served: (ms: number) => void }>();

  async function ask(question: Question): Promise<Seen> {
    const sentAt = performance.now();
    const seen = await journal.search(pick(serverUrls), question);
    const isServed = seen.kind === "answered" && seen.status === 200;
    if (isServed) {
      load.answered += 1;
      for (const waiter of waitingForService)
        if (sentAt >= waiter.since) {
          waiter.served(performance.now() - waiter.since);
          waitingForService.delete(waiter);
        }
    }
    return seen;
  }

  async function beCaller(): Promise<void> {
    while (load.isOn) {
      const question: Question = { wallet: pick(wallets), query: randomUUID() };
      if (Math.random() < 0.5) question.idempotencyKey = randomUUID();
      let seen = await ask(question);
      while (load.isOn && question.idempotencyKey !== undefined && isWorthRetrying(seen)) {
        await wait(20);
        seen = await ask(question);
      }
      if (question.idempotencyKey !== undefined && isWorthRetrying(seen)) unfinished.push(question);
      // Nobody hammers a door that is shut.
      if (seen.kind !== "answered" || seen.status >= 500) await wait(20);
    }
  }

  const callers = Array.from({ length: clients }, beCaller);
  return {
    timeToServe: () =>
      new Promise((served) => {
        waitingForService.add({ since: performance.now(), served });
      }),
    answered: () => load.answered,
    async stop() {
      load.isOn = false;
      await Promise.all(callers);
      return unfinished;
    },
  };
}

function isWorthRetrying(seen: Seen): boolean {
  return seen.kind !== "answered" || seen.status === 409 || seen.status >= 500;
}

function pick<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)] as Item;
}
