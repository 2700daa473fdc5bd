import { brave } from "./brave.ts";
import { exa } from "./exa.ts";
import { opensearch } from "./opensearch.ts";
import { perplexity } from "./perplexity.ts";
import type { Adapter } from "./provider.ts";
import { searxng } from "./searxng.ts";
import { serper } from "./serper.ts";
import { tavily } from "./tavily.ts";
import { you } from "./you.ts";

export { createCaller } from "./call-provider.ts";

/** All available providers. To add one, write its file, add it here and add its fixtures. */
export const adapters: readonly Adapter[] = [brave, exa, opensearch, perplexity, searxng, serper, tavily, you];
