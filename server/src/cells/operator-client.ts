import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Static, TSchema } from "typebox";
import { Check } from "typebox/value";

// Reads the operator API of other cells, for the operator console and `npm run fleet`. A fault never contains a token or
// text from a response, because it is shown and logged.

/** A cell as listed in fleet.json. */
export interface FleetCell {
  name: string;
  /** Base URL of the internal listener of one of its servers, or of a load balancer in front of them. */
  url: string;
  /** File with an operator's token for this cell. */
  tokenFile: string;
}

export class FleetFault extends Error {}

/** Paths of token files are relative to the folder of the list. */
export function readFleet(file: string): FleetCell[] {
  const { cells } = parseFleet(file);
  if (!Array.isArray(cells) || cells.length === 0) throw new FleetFault(`${file} lists no cells`);
  const list = cells.map(({ name, url, tokenFile }) => {
    if (!name || !url || !tokenFile) throw new FleetFault(`${file}: every cell needs name, url and tokenFile`);
    if (!/^https?:\/\//.test(url))
      throw new FleetFault(`${file}: the url of ${name} must start with https:// or http://`);
    return { name, url: url.replace(/\/+$/, ""), tokenFile: resolve(dirname(file), tokenFile) };
  });
  if (new Set(list.map(({ name }) => name)).size < list.length) throw new FleetFault(`${file} names a cell twice`);
  return list;
}

interface Fleet {
  cells?: Partial<FleetCell>[];
}

function parseFleet(file: string): Fleet {
  const text = readText(file);
  if (text === undefined) throw new FleetFault(`${file} cannot be read`);
  try {
    return (JSON.parse(text) ?? {}) as Fleet;
  } catch {
    // The parser's message quotes the file, which could be a token file by mistake.
    throw new FleetFault(`${file} is not valid JSON`);
  }
}

/** An operator waits for the answer. A cell in another region needs a fraction of a second. */
const timeoutMs = 10_000;

/** GET on the operator API of a cell. Throws a FleetFault after ten seconds at most. */
export async function readCell<Schema extends TSchema>(
  { url, tokenFile }: FleetCell,
  path: string,
  schema: Schema,
): Promise<Static<Schema>> {
  const token = readText(tokenFile)?.trim();
  if (token === undefined) throw new FleetFault("the token file cannot be read");
  const signal = AbortSignal.timeout(timeoutMs);
  const headers = { authorization: `Bearer ${token}` };
  const reply = await fetch(`${url}/operator/${path}`, { headers, signal, redirect: "manual" }).catch(() => {
    throw new FleetFault(signal.aborted ? "no response" : "not reachable");
  });
  const answer: unknown = await reply.json().catch(() => undefined);
  if (signal.aborted) throw new FleetFault("no response");
  if (!reply.ok) throw new FleetFault(reply.status === 401 ? "the token is not accepted" : `returned ${reply.status}`);
  if (!Check(schema, answer)) throw new FleetFault("the response is not valid");
  return answer;
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
