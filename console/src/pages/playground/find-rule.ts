export interface LensText {
  name: string;
  text: string;
}

export interface FoundRule {
  lens: string;
  /** From 1. */
  line: number;
  text: string;
}

/**
 * Finds the line of a lens that gave a page its tier, by the reason and the page's host. Lenses are searched in order, so
 * a category comes before the lens it extends. Of several matching lines, the one that names the most of the host wins.
 */
export function findRule(lenses: readonly LensText[], page: { url: string; reason: string }): FoundRule | undefined {
  if (!URL.canParse(page.url)) return undefined;
  const { hostname } = new URL(page.url);
  for (const { name, text } of lenses) {
    const found = text
      .split("\n")
      .map((line, index) => ({
        lens: name,
        line: index + 1,
        text: line,
        match: matchRule(line, hostname, page.reason),
      }))
      .filter(({ match }) => match >= 0)
      .toSorted((first, second) => second.match - first.match)[0];
    if (found) return { lens: found.lens, line: found.line, text: found.text };
  }
  return undefined;
}

/** Browsers scroll to the text of this fragment and highlight it. */
export function linkToRule({ lens, text }: FoundRule): string {
  // A hyphen separates the parts of a text fragment.
  return `/v1/lenses/${encodeURIComponent(lens)}#:~:text=${encodeURIComponent(text).replaceAll("-", "%2D")}`;
}

/** The number of characters of the host that the rule names, or -1 if it does not apply. */
function matchRule(line: string, host: string, reason: string): number {
  const options = line.startsWith("!") ? [] : (line.split("$")[1]?.split(",") ?? []);
  if (!options.includes(`why=${reason}`)) return -1;
  const named = options.map((option) => option.split("=")).find(([name = ""]) => name in matchers);
  // Rules for a path or for a hosting platform name no host.
  if (!named) return 0;
  const [name = "", value = ""] = named;
  return matchers[name]?.(host, value) ? value.length : -1;
}

const matchers: Record<string, (host: string, value: string) => boolean> = {
  host: (host, value) => host.replace(/^www\./, "") === value.replace(/^www\./, ""),
  site: (host, value) => host === value || host.endsWith(`.${value}`),
  "host-suffix": (host, value) => host.endsWith(`.${value}`),
  suffix: (host, value) =>
    value.endsWith(".*") ? host.slice(0, -2).endsWith(`.${value.slice(0, -1)}`) : host.endsWith(`.${value}`),
  label: (host, value) => host.split(".").slice(0, -2).includes(value),
};
