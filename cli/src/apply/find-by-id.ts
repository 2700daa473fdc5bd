import { identify } from "./apply-file.ts";

/** The object of the wallet with the external id, and the mode, of one in the file. */
export function findById<Found extends { mode?: string; external_id: string | null }>(
  objects: readonly Found[],
  wanted: { mode?: string; external_id: string },
): Found | undefined {
  return objects.find(
    ({ mode, external_id: id }) =>
      id !== null && identify({ ...(mode !== undefined && { mode }), external_id: id }) === identify(wanted),
  );
}
