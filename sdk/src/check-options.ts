// Options are checked before anything is sent: a misspelled one would otherwise be ignored, and the search paid for.

/** Every option, so that the compiler reports one that is missing from the list. */
export type OptionNames<Options> = Record<keyof Options, true>;

/** Throws for an option that does not exist. `of` names the object that contains it. */
export function checkNames(options: unknown, known: readonly string[], of = ""): void {
  if (options === undefined) return;
  check(typeof options === "object" && options !== null, "The options must be an object.");
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const meant = suggest(name, known);
    const hint = meant === undefined ? `The options are ${known.join(", ")}.` : `Did you mean ${meant}?`;
    throw new TypeError(`${name} is not a known option${of}. ${hint}`);
  }
}

export function check(isValid: boolean, message: string): asserts isValid {
  if (!isValid) throw new TypeError(message);
}

export function isText(value: unknown, pattern: RegExp): value is string {
  return typeof value === "string" && pattern.test(value);
}

function suggest(word: string, known: readonly string[]): string | undefined {
  const plain = normalize(word);
  const scored = known
    .map((name) => ({ name, edits: countEdits(plain, normalize(name)) }))
    .filter(({ name, edits }) => edits <= Math.max(1, Math.floor(Math.max(plain.length, name.length) / 3)));
  return scored.toSorted((a, b) => a.edits - b.edits)[0]?.name;
}

/** `grace_seconds` is `graceSeconds`. */
function normalize(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

/** Insertions, deletions and substitutions. */
function countEdits(left: string, right: string): number {
  let last = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (const [row, character] of [...left].entries()) {
    const current = [row + 1];
    for (const [column, other] of [...right].entries()) {
      const substituted = (last[column] ?? 0) + (character === other ? 0 : 1);
      current.push(Math.min(substituted, (last[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    last = current;
  }
  return last[right.length] ?? 0;
}
