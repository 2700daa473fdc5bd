import type { Key, Pennyblack } from "@pennyblack/sdk";
import { sanitize, table } from "./terminal.ts";

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Returns the id of the key with this id or exact name. */
export async function findKeyId(client: Pennyblack, idOrName: string): Promise<string> {
  if (uuid.test(idOrName)) return idOrName;
  return selectKey(await Array.fromAsync(client.keys.list()), idOrName).id;
}

function selectKey(keys: readonly Key[], idOrName: string): Key {
  const byId = keys.find(({ id }) => id === idOrName);
  if (byId) return byId;
  const named = keys.filter(({ name }) => name === idOrName);
  // Rotation leaves an expired key with the same name.
  const active = named.filter(({ state }) => state === "active");
  const [match, ...others] = active.length > 0 ? active : named;
  if (match === undefined) {
    throw new Error(
      `No key has the id or name "${sanitize(idOrName)}". No changes were made. See: pennyblack keys list`,
    );
  }
  if (others.length === 0) return match;
  const rows = [match, ...others].map(({ id, start, state }) => [`  ${id}`, `${start}…`, state]);
  throw new Error(
    `${rows.length} keys have the name "${sanitize(idOrName)}". No changes were made. Use an id:\n${table(rows)}`,
  );
}
