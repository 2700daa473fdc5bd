import type { DevAccount } from "./start-everything.ts";

export interface Welcome {
  url: string;
  opsUrl: string;
  account: DevAccount;
  balance: string;
  searxngUrl: string | undefined;
  /** The data was made for this start and goes with it. */
  isThrowaway: boolean;
  seconds: string;
}

export function welcome({ url, opsUrl, account, balance, searxngUrl, isThrowaway, seconds }: Welcome): string {
  const upstream = searxngUrl
    ? `The live key searches through ${searxngUrl}.`
    : `No upstream is connected yet, so the live key answers 503 and costs nothing. Connect a SearXNG:

  PENNYBLACK_SEARXNG_URL=http://localhost:8888 npm run dev`;
  return `
Pennyblack is ready, after ${seconds} s.

  API             ${url}
  health, metrics ${opsUrl}/readyz  ${opsUrl}/metrics

  test key        ${account.testKey}   free, made-up results
  live key        ${account.liveKey}   0.01 USD a search; the wallet has ${balance} USD of play money
  management key  ${account.managementKey}   manages the wallet and its keys

Try it:

  curl -s ${url}/v1/search -H "Authorization: Bearer ${account.testKey}" \\
    -H "Content-Type: application/json" -d '{"query": "postgresql advisory locks", "n": 3}'

${upstream}

In another terminal: npm run admin -- --help
Ctrl-C stops everything${isThrowaway ? " and throws the data away" : ""}.
`;
}
