import { buildLenses } from "../../../../src/ranking/ranking.ts";
import { anyTexts, type BuildText } from "./adversarial-texts.ts";
import type { CostCase } from "./find-costly-cases.ts";
import { type CostInput, inJson } from "./request-case.ts";

/** The largest lens has 350 kB, and is read when a server starts. */
const maxLensBytes = 65_536;

/** Lenses are the operator's own files, but a mistake in one must not stop a server. */
export function* lensCases(): Generator<CostCase<CostInput>> {
  const head = "! name: base\n! version: 2026-01-01.1\n! lambda: 0.5\n";
  const texts: Record<string, BuildText> = {
    ...anyTexts,
    rules: numberedLines((index) => `$tier=A,host=a${index}.example,why=x`),
    "rules for paths": numberedLines((index) => `/a${index}/$tier=D,why=x`),
    "repeated rules": numberedLines(() => "$tier=A,host=a.example,why=x"),
    "a rule of many fields": (size) => `$${"tier=A,".repeat(size / 7)}`,
    "a host of many labels": (size) => `$tier=A,why=x,host=${"a.".repeat(size / 2)}com`,
    "a host of hyphens": (size) => `$tier=A,why=x,host=${"a-".repeat(size / 2)}.`,
    "an unknown header": (size) => `! ${"a".repeat(size)}: x`,
  };
  for (const [kind, build] of Object.entries(texts)) {
    yield {
      name: `a lens of ${kind}`,
      limit: maxLensBytes,
      build: (size) => {
        const text = head + build(size, inJson);
        return { call: () => void buildLenses([{ file: "base.lens", text }]) };
      },
    };
  }
}

function numberedLines(line: (index: number) => string): BuildText {
  return (size) => {
    const lines: string[] = [];
    for (let index = 0, left = size; left > 0; index += 1) {
      lines.push(line(index));
      left -= line(index).length + 1;
    }
    return lines.join("\n");
  };
}
