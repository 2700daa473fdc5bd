import type { Installation } from "./installation.ts";

export interface Answer {
  /** The status and the code of an error, "no answer" if the connection failed, or "timeout". */
  status: string;
  ms: number;
  /** When the caller sent it. */
  at: number;
}

let count = 0;

/** One paid search, as a caller sends it. */
export async function search(
  { server, wallet }: Pick<Installation, "wallet"> & { server: { url: string } },
  { timeoutMs, headers = {} }: { timeoutMs: number; headers?: Record<string, string> },
): Promise<Answer> {
  const [at, startedAt] = [Date.now(), performance.now()];
  const status = await fetch(`${server.url}/v1/search`, {
    method: "POST",
    headers: { authorization: `Bearer ${wallet.live}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ query: `cats ${(count += 1)}` }),
    signal: AbortSignal.timeout(timeoutMs),
  }).then(
    async (response) => {
      const { code } = (await response.json().catch(() => ({}))) as { code?: string };
      return code === undefined ? String(response.status) : `${response.status} ${code}`;
    },
    (error: unknown) => (error instanceof Error && error.name === "TimeoutError" ? "timeout" : "no answer"),
  );
  return { status, ms: performance.now() - startedAt, at };
}
