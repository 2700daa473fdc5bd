// Search with plain fetch. Runs in Node, Deno, Bun, web workers and edge runtimes.

const url = process.env["PENNYBLACK_URL"] ?? "http://localhost:8080";
const apiKey = process.env["PENNYBLACK_API_KEY"] ?? "";

interface Result {
  title: string;
  url: string;
  snippet: string;
  source: string;
}

interface Problem {
  code: string;
  detail: string;
  retryable: boolean;
}

async function search(query: string, n = 5): Promise<Result[]> {
  const response = await fetch(`${url}/v1/search`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
      // Retries with the same key are free.
      "idempotency-key": crypto.randomUUID(),
    },
    body: JSON.stringify({ query, n }),
    signal: AbortSignal.timeout(15_000),
  });
  if (!response.ok) {
    // Failed searches are not charged. A failure is not the same as no results.
    const { code, detail } = (await response.json()) as Problem;
    throw new Error(`${code}: ${detail}`);
  }
  return ((await response.json()) as { results: Result[] }).results;
}

for (const { title, url: address } of await search(process.argv[2] ?? "postgresql advisory locks")) {
  console.log(`${title}\n  ${address}`);
}
