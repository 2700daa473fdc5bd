/** Longer words are not compared, which bounds the work for input from outside. */
const maxLength = 64;

/** Returns the known word that `word` is most likely a misspelling of, or undefined if none is close. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  if (word.length > maxLength) return undefined;
  const plain = normalize(word);
  if (plain === "") return undefined;
  let best: { word: string; distance: number } | undefined;
  for (const candidate of known) {
    const other = normalize(candidate);
    const max = Math.min(Math.floor(Math.max(plain.length, other.length) / 3), (best?.distance ?? Infinity) - 1);
    const distance = isBeginning(plain, other) ? 1 : editDistance(plain, other, max);
    if (distance <= max) best = { word: candidate, distance };
  }
  return best?.word;
}

/** Ignores case and separators, so that `graceSeconds` is `grace_seconds`. */
function normalize(word: string): string {
  return word.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

const minBeginning = 3;

/** Whether one word is the other one cut off, such as `cat` for `category`. */
function isBeginning(left: string, right: string): boolean {
  const isLongEnough = Math.min(left.length, right.length) >= minBeginning;
  return isLongEnough && left !== right && (left.startsWith(right) || right.startsWith(left));
}

/**
 * Insertions, deletions, substitutions, and swaps of two neighbours, each counted as one. Infinity if there are more than
 * `max`, which for most words follows from their lengths or first letters.
 */
export function editDistance(left: string, right: string, max = Infinity): number {
  if (Math.abs(left.length - right.length) > max) return Infinity;
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1];
      let distance = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isSwapped = row > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (isSwapped) distance = Math.min(distance, (beforeLast[column - 2] ?? 0) + 1);
      current.push(distance);
    }
    // A swap continues from the row before the last.
    if (Math.min(...current) > max && Math.min(...last) > max) return Infinity;
    [beforeLast, last] = [last, current];
  }
  const distance = last[right.length] ?? 0;
  return distance <= max ? distance : Infinity;
}
