import type { Provider } from "../../../src/providers/provider.ts";
import { searxng } from "../../../src/providers/searxng.ts";

/** The SearXNG adapter, the only one whose upstream a test server can imitate completely. */
export function searxngAt(url: string): Provider {
  return searxng.create({ url, key: "", fields: { title: "", url: "", snippet: "" } });
}
