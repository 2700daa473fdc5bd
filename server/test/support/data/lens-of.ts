import { buildLenses, type Lens } from "../../../src/ranking/lens.ts";

/** A lens with these rules, one per line. */
export function lensOf(rules: string, lambda = 0.5): Lens {
  const text = `! name: tried\n! version: 2026-11-15.1\n! lambda: ${lambda}\n${rules}`;
  const built = buildLenses([{ file: "tried.lens", text }]);
  const lens = built.ok ? built.lenses.get("tried") : undefined;
  if (lens === undefined) throw new Error(JSON.stringify(built));
  return lens;
}
