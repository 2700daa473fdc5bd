import type { Redis } from "ioredis";
import type { Micros } from "../lib/money.ts";

/** The cost of one upstream in one period on all servers. */
export interface Spending {
  /** Such as "2030-01-31". */
  period: string;
  /** Counts a cost of this server. */
  add(cost: Micros): void;
  /** Sets the total that the usage counts report. */
  setCounted(total: Micros): void;
  /** Sends the costs not sent yet, and reads the sum. Never rejects. */
  exchange(): Promise<void>;
  total(): Micros;
  /** Whether Redis answered the last exchange. */
  isShared(): boolean;
}

interface SpendingOptions {
  redis: CountingRedis | undefined;
  key: string;
  period: string;
  /** Identifies this process. */
  server: string;
  onChange: (spending: Spending) => void;
}

export function createSpending({ redis, key, period, server, onChange }: SpendingOptions): Spending {
  /** The sum in Redis, which includes neither `sending` nor `unsent`. */
  let shared = 0n;
  let sending = 0n;
  let unsent = 0n;
  let counted = 0n;
  let batch = 0;
  let isShared = false;
  let isBusy = false;

  function nextBatch(): void {
    sending = unsent;
    unsent = 0n;
    batch += 1;
  }

  const spending: Spending = {
    period,
    add(cost) {
      unsent += cost;
      onChange(spending);
      spending.exchange().catch(() => undefined);
    },
    setCounted(total) {
      counted = total;
      onChange(spending);
    },
    async exchange() {
      if (!redis || isBusy) return;
      isBusy = true;
      try {
        do {
          if (sending === 0n) nextBatch();
          const text = await redis.pbAddCost(key, server, batch, String(sending), String(max(shared, counted)));
          shared = BigInt(text);
          sending = 0n;
          isShared = true;
          onChange(spending);
        } while (unsent > 0n);
      } catch {
        // The batch is sent again, under the same number.
        isShared = false;
      } finally {
        isBusy = false;
      }
    },
    total: () => max(shared + sending + unsent, counted),
    isShared: () => isShared,
  };
  return spending;
}

function max(a: Micros, b: Micros): Micros {
  return a > b ? a : b;
}

/** Redis with our script as a command, which is sent by its hash instead of in full. */
export type CountingRedis = Redis & {
  pbAddCost(key: string, server: string, batch: number, cost: string, least: string): Promise<string>;
};

export function withCounting(redis: Redis): CountingRedis {
  redis.defineCommand("pbAddCost", { numberOfKeys: 1, lua: addScript });
  return redis as CountingRedis;
}

// A hash with the sum and the last batch of each server. `least` restores the sum only after Redis lost its data: the counts that
// it comes from can include a cost that its server has yet to send. It expires after the longest period.
const addScript = `
  local server, batch, cost, least = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
  local total = tonumber(redis.call('hget', KEYS[1], 'total'))
  if not total then total = math.max(cost, least)
  elseif redis.call('hget', KEYS[1], server) ~= batch then total = total + cost end
  local text = string.format('%.0f', total)
  redis.call('hset', KEYS[1], 'total', text, server, batch)
  redis.call('expire', KEYS[1], 35 * 86400)
  return text`;
