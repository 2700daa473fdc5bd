/** `keywords` are other words that find it. */
export interface Action {
  label: string;
  keywords?: string;
}

export type Command<Choice, Page, Key> =
  | { kind: "action"; action: Choice }
  | { kind: "page"; page: Page }
  | { kind: "key"; key: Key }
  | { kind: "request"; id: string };

const requestId = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i;
const maxKeys = 8;

/** Finds actions and pages by label, keys by name or prefix, and a request id anywhere in the text. */
export function findCommands<
  Choice extends Action,
  Page extends { label: string },
  Key extends { name: string; start: string },
>(
  text: string,
  { actions, pages, keys }: { actions: readonly Choice[]; pages: readonly Page[]; keys: readonly Key[] },
): Command<Choice, Page, Key>[] {
  const id = requestId.exec(text)?.[0].toLowerCase();
  if (id !== undefined) return [{ kind: "request", id }];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (candidate: string): boolean => words.every((word) => candidate.toLowerCase().includes(word));
  const matchingKeys = keys.filter(
    // Pasting a whole key finds it. The key is not sent anywhere.
    ({ name, start }) => words.length > 0 && (matches(`${name} ${start}`) || text.trim().startsWith(start)),
  );
  return [
    ...actions
      .filter(({ label, keywords = "" }) => matches(`${label} ${keywords}`))
      .map((action) => ({ kind: "action" as const, action })),
    ...pages.filter(({ label }) => matches(label)).map((page) => ({ kind: "page" as const, page })),
    ...matchingKeys.slice(0, maxKeys).map((key) => ({ kind: "key" as const, key })),
  ];
}
