import { Session } from "node:inspector/promises";
import { setTimeout as wait } from "node:timers/promises";
import { getHeapSnapshot } from "node:v8";
import { Type } from "typebox";
import type { OperatorRoute } from "../http/ops-server.ts";
import { jsonReader } from "../http/read-json.ts";
import { Problem } from "../problems/problems.ts";

// The internal listener closes connections that are idle for 20 seconds.
const maxSeconds = 15;

const readSeconds = jsonReader(
  Type.Object({ seconds: Type.Integer({ minimum: 1, maximum: maxSeconds }) }, { additionalProperties: false }),
);

/**
 * Profiles of this process, for Chrome DevTools. The internal listener logs each request with the operator's name. A heap
 * snapshot contains secrets and queries and blocks the process while it is taken, so it must be enabled in the settings.
 */
export function profileRoutes({ hasHeapSnapshots }: { hasHeapSnapshots: boolean }): OperatorRoute[] {
  let isBusy = false;
  /** One at a time, because each slows the process down. */
  async function alone<Result>(work: () => Promise<Result>): Promise<Result> {
    if (isBusy)
      throw new Problem("overloaded", {
        detail: "Another profile of this server is being taken. Retry after it has ended.",
        retryAfterSeconds: maxSeconds,
      });
    isBusy = true;
    return work().finally(() => {
      isBusy = false;
    });
  }
  return [
    {
      method: "POST",
      path: "profile/cpu",
      handle: async (request) => {
        const { seconds } = await readSeconds(request.raw);
        return alone(() => takeCpuProfile(seconds));
      },
    },
    {
      method: "POST",
      path: "profile/heap",
      handle: () => {
        if (!hasHeapSnapshots)
          throw new Problem("not_found", {
            detail:
              "Heap snapshots contain secrets and are disabled. Set PENNYBLACK_HEAP_SNAPSHOTS=true to enable them.",
          });
        return alone(async () => getHeapSnapshot());
      },
    },
  ];
}

async function takeCpuProfile(seconds: number): Promise<unknown> {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    await wait(seconds * 1_000);
    return (await session.post("Profiler.stop")).profile;
  } finally {
    session.disconnect();
  }
}
