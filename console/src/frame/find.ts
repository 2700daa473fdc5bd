export type Found<Page, Key> =
  | { kind: "page"; page: Page }
  | { kind: "key"; key: Key }
  | { kind: "request"; id: string };

const requestId = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i;
const mostKeys = 8;

/** What someone may mean by what they typed: a request id that was pasted, pages, keys by name or by their start. */
export function find<Page extends { label: string }, Key extends { name: string; start: string }>(
  typed: string,
  pages: readonly Page[],
  keys: readonly Key[],
): Found<Page, Key>[] {
  const id = requestId.exec(typed)?.[0].toLowerCase();
  if (id !== undefined) return [{ kind: "request", id }];
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
  const fitting = keys.filter(
    // Whoever pastes a whole key learns which one it is. It does not leave the page.
    ({ name, start }) => words.length > 0 && (fits(`${name} ${start}`) || typed.trim().startsWith(start)),
  );
  return [
    ...pages.filter(({ label }) => fits(label)).map((page) => ({ kind: "page" as const, page })),
    ...fitting.slice(0, mostKeys).map((key) => ({ kind: "key" as const, key })),
  ];
}
