import { formatUsd } from "../lib/money.ts";
import { devOwner } from "./dev-account.ts";
import type { Everything } from "./start-everything.ts";

export function welcome(everything: Everything, seconds: string): string {
  const { account, upstreams, operatorToken, environmentFile, sitesInProgress, keptIn } = everything;
  const { url, opsUrl } = everything.addresses;
  const upstream =
    upstreams.length > 0
      ? `Live searches use ${upstreams.join(", then ")}.`
      : `No upstream is configured, so live searches return 503 and are not charged. To configure one:

  PENNYBLACK_SEARXNG_URL=http://localhost:8888 npm run dev
  PENNYBLACK_BRAVE_KEY=... npm run dev

On Debian 12, npm run dev -- --with-searx runs one locally. List all upstreams: npm run providers -- list`;
  const building = (site: string): string =>
    sitesInProgress.includes(site) ? "   being built, ready in a moment" : "";
  const adminCommand = environmentFile.isDefault ? "npm run admin" : `DEV_ENV=${environmentFile.path} npm run admin`;
  const operator =
    operatorToken === undefined
      ? ""
      : `\n  Operator console  ${opsUrl}/console${building("console")}\n                    Token: ${operatorToken}`;
  const stop =
    keptIn === undefined
      ? "Press Ctrl-C to stop. Another npm run dev uses the kept data, so the keys above end with this one."
      : `Press Ctrl-C to stop. Keys and data stay in ${keptIn}/ until npm run dev -- --reset.`;
  return `
Pennyblack is running (started in ${seconds} s).

  API               ${url}
  Docs              ${url}/docs/${building("docs")}
  Console           ${account.signInLink}${building("console")}
                    This link works once. New link: ${adminCommand} -- console sign-in-link --email ${devOwner}${operator}
  Health, metrics   ${opsUrl}/readyz, ${opsUrl}/metrics

  Test key          ${account.testKey}   free, synthetic results
  Live key          ${account.liveKey}   0.01 USD per search, ${formatUsd(account.balance)} USD of play money. More: ${everything.playMoneyUrl}
  Management key    ${account.managementKey}   manages the wallet and its keys

Try it:

  curl -s ${url}/v1/search -H "Authorization: Bearer ${account.testKey}" \\
    -H "Content-Type: application/json" -d '{"query": "postgresql advisory locks", "n": 3}'

${upstream}

Admin commands: ${adminCommand} -- --help
${stop}
`;
}
