import { type Jwks, type JwsType, verifyJws } from "../lib/sign-jws.ts";
import type { ExportedLine } from "./roots-folder.ts";
import type { DayClaims, HourClaims } from "./sign-roots.ts";

/** Exported roots whose signature is valid. */
export interface SignedRoots {
  hours: Map<string, HourClaims & { signed: string }>;
  days: Map<string, DayClaims & { signed: string }>;
  /** The last exported hour and day. */
  lastHour: string | undefined;
  lastDay: string | undefined;
  faults: { what: "signature" | "conflicting_roots"; of: string; detail: string }[];
}

/** Only signed content is used: the other fields of a line are for people. A line that occurs twice is harmless. */
export async function readSignedRoots(lines: AsyncIterable<ExportedLine>, jwks: Jwks): Promise<SignedRoots> {
  const roots: SignedRoots = { hours: new Map(), days: new Map(), lastHour: undefined, lastDay: undefined, faults: [] };
  for await (const { place, root } of lines) {
    const type: JwsType = root?.of.length === 10 ? "pennyblack-day" : "pennyblack-hour";
    const claims = root && ((await verifyJws(root.signed, type, jwks)) as (HourClaims & DayClaims) | undefined);
    const of = claims && (type === "pennyblack-day" ? claims.day : claims.hour);
    if (!root || !claims || of === undefined || of !== root.of || claims.root !== root.root) {
      roots.faults.push({
        what: "signature",
        of: root?.of ?? place,
        detail: `${place} is not a line signed with these keys`,
      });
      continue;
    }
    const known: Map<string, { root: string; signed: string }> = type === "pennyblack-day" ? roots.days : roots.hours;
    const earlier = known.get(of);
    if (earlier && earlier.root !== claims.root) {
      roots.faults.push({ what: "conflicting_roots", of, detail: `${place} signs another root than an earlier line` });
      continue;
    }
    known.set(of, { ...claims, signed: root.signed });
  }
  roots.lastHour = [...roots.hours.keys()].toSorted().at(-1);
  roots.lastDay = [...roots.days.keys()].toSorted().at(-1);
  return roots;
}
