const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openArray = 0x5b;
const backslash = 0x5c;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/** An object or array that is open at the current position. */
interface Open {
  /** The keys seen so far. Undefined in an array. */
  keys: Set<string> | undefined;
  /** The current key or index. */
  at: string | number;
}

/**
 * Returns the JSON Pointer of the first key that appears twice in its object, or undefined. The text must be valid JSON.
 * JSON.parse keeps the last of two values, while a proxy or a logger may keep the first.
 */
export function findDuplicateKey(text: string): string | undefined {
  const path: Open[] = [];
  let current: Open | undefined;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === quote) {
      const end = endOfString(text, index);
      if (current?.keys && isFollowedByColon(text, end)) {
        const key = readString(text, index, end);
        current.at = key;
        if (current.keys.has(key)) return toPointer(path);
        current.keys.add(key);
      }
      index = end - 1;
    } else if (code === openObject || code === openArray) {
      current = code === openObject ? { keys: new Set(), at: "" } : { keys: undefined, at: 0 };
      path.push(current);
    } else if (code === closeObject || code === closeArray) {
      path.pop();
      current = path.at(-1);
    } else if (code === comma && typeof current?.at === "number") {
      current.at += 1;
    }
  }
  return undefined;
}

/** The index after the closing quote. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(text: string, index: number): boolean {
  let first = index;
  while (text.charCodeAt(first - 1) === backslash) first -= 1;
  return (index - first) % 2 === 1;
}

function isFollowedByColon(text: string, start: number): boolean {
  let index = start;
  while (text.charCodeAt(index) <= 0x20) index += 1;
  return text.charCodeAt(index) === colon;
}

function readString(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes("\\") ? (JSON.parse(text.slice(start, end)) as string) : raw;
}

function toPointer(path: readonly Open[]): string {
  return path.map(({ at }) => `/${String(at).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
