import { type DevAccount, devOwner } from "./start-everything.ts";

export interface Welcome {
  url: string;
  opsUrl: string;
  account: DevAccount;
  balance: string;
  /** Who is asked, in order. */
  upstreams: readonly string[];
  operatorToken: string | undefined;
  /** The data was made for this start and goes with it. */
  isThrowaway: boolean;
  seconds: string;
}

export function welcome({
  url,
  opsUrl,
  account,
  balance,
  upstreams,
  operatorToken,
  isThrowaway,
  seconds,
}: Welcome): string {
  const upstream =
    upstreams.length > 0
      ? `The live key searches through ${upstreams.join(", then ")}.`
      : `No upstream is connected yet, so the live key answers 503 and costs nothing. Connect one:

  PENNYBLACK_SEARXNG_URL=http://localhost:8888 npm run dev
  PENNYBLACK_BRAVE_KEY=... npm run dev

On Debian 12 there is one to try, npm run dev -- --with-searx; npm run providers -- list shows them all.`;
  const operator =
    operatorToken === undefined ? "" : `\n  operator token  ${operatorToken}   ${opsUrl}/operator/upstreams`;
  return `
Pennyblack is ready, after ${seconds} s.

  API             ${url}
  health, metrics ${opsUrl}/readyz  ${opsUrl}/metrics
  console         ${account.signInLink}
                  signs you in once; another: npm run admin -- console sign-in-link --email ${devOwner}

  test key        ${account.testKey}   free, made-up results
  live key        ${account.liveKey}   0.01 USD a search; the wallet has ${balance} USD of play money
  management key  ${account.managementKey}   manages the wallet and its keys${operator}

Try it:

  curl -s ${url}/v1/search -H "Authorization: Bearer ${account.testKey}" \\
    -H "Content-Type: application/json" -d '{"query": "postgresql advisory locks", "n": 3}'

${upstream}

In another terminal: npm run admin -- --help
Ctrl-C stops everything${isThrowaway ? " and throws the data away" : ""}.
`;
}
