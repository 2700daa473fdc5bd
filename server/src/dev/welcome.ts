import { devOwner, type Everything } from "./start-everything.ts";

export function welcome(
  { addresses: { url, opsUrl }, account, upstreams, operatorToken, isThrowaway }: Everything,
  { seconds, balance }: { seconds: string; balance: string },
): string {
  const upstream =
    upstreams.length > 0
      ? `Live searches use ${upstreams.join(", then ")}.`
      : `No upstream is configured, so live searches return 503 and are not charged. To configure one:

  PENNYBLACK_SEARXNG_URL=http://localhost:8888 npm run dev
  PENNYBLACK_BRAVE_KEY=... npm run dev

On Debian 12, npm run dev -- --with-searx runs one locally. List all upstreams: npm run providers -- list`;
  const operator =
    operatorToken === undefined ? "" : `\n  Operator token  ${operatorToken}   ${opsUrl}/operator/upstreams`;
  return `
Pennyblack is running (started in ${seconds} s).

  API             ${url}
  Health          ${opsUrl}/readyz
  Metrics         ${opsUrl}/metrics
  Console         ${account.signInLink}
                  This link works once. New link: npm run admin -- console sign-in-link --email ${devOwner}

  Test key        ${account.testKey}   free, made-up results
  Live key        ${account.liveKey}   0.01 USD per search, ${balance} USD of play money
  Management key  ${account.managementKey}   manages the wallet and its keys${operator}

Try it:

  curl -s ${url}/v1/search -H "Authorization: Bearer ${account.testKey}" \\
    -H "Content-Type: application/json" -d '{"query": "postgresql advisory locks", "n": 3}'

${upstream}

Admin commands: npm run admin -- --help
Press Ctrl-C to stop${isThrowaway ? " and delete the data" : ""}.
`;
}
