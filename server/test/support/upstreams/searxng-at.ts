import type { Provider } from "../../../src/providers/provider.ts";
import { searxng } from "../../../src/providers/searxng.ts";

/** The adapter of SearXNG, which is the one that a server of ours can imitate whole. */
export function searxngAt(url: string): Provider {
  return searxng.create({ url, key: "", fields: { title: "", url: "", snippet: "" } });
}
