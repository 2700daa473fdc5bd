import { readFileSync } from "node:fs";

/** A cell as listed in fleet.json. */
export interface FleetCell {
  name: string;
  /** Base URL of the internal listener of one of its servers, or of a load balancer in front of them. */
  url: string;
  /** File with an operator's token for this cell. */
  tokenFile: string;
}

export class FleetFault extends Error {}

export function readFleet(file: string): FleetCell[] {
  const { cells } = JSON.parse(readFileSync(file, "utf8")) as { cells?: Partial<FleetCell>[] };
  if (!Array.isArray(cells) || cells.length === 0) throw new FleetFault(`${file} lists no cells`);
  return cells.map(({ name, url, tokenFile }) => {
    if (!name || !url || !tokenFile) throw new FleetFault(`${file}: every cell needs name, url and tokenFile`);
    if (!/^https?:\/\//.test(url))
      throw new FleetFault(`${file}: the url of ${name} must start with https:// or http://`);
    return { name, url: url.replace(/\/+$/, ""), tokenFile };
  });
}

const timeoutMs = 5_000;

/** GET on the operator API of a cell. */
export async function readCell<Answer>({ url, tokenFile }: FleetCell, path: string): Promise<Answer> {
  const token = readFileSync(tokenFile, "utf8").trim();
  const reply = await fetch(`${url}/operator/${path}`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error: unknown) => {
    throw new FleetFault(error instanceof Error && error.name === "TimeoutError" ? "no response" : "not reachable");
  });
  if (!reply.ok) throw new FleetFault(reply.status === 401 ? "the token is not accepted" : `returned ${reply.status}`);
  return (await reply.json()) as Answer;
}
