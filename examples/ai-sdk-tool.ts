// Web search as a Vercel AI SDK tool. This example uses the SDK's mock model, which requests one search and then answers.
// Replace it with your model.

import { createWebSearch } from "@pennyblack/ai-sdk";
import { generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";

// The conversation can spend at most 0.10 USD. The key and the base URL come from the environment.
const webSearch = createWebSearch({ max: "0.10" });

const query = process.argv[2] ?? "postgresql advisory locks";
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const model = new MockLanguageModelV4({
  doGenerate: [
    {
      content: [{ type: "tool-call", toolCallId: "1", toolName: "webSearch", input: JSON.stringify({ query }) }],
      finishReason: { unified: "tool-calls", raw: undefined },
      usage,
      warnings: [],
    },
    {
      content: [{ type: "text", text: "Here is what I found." }],
      finishReason: { unified: "stop", raw: undefined },
      usage,
      warnings: [],
    },
  ],
});

const { text, steps } = await generateText({ model, tools: { webSearch }, stopWhen: isStepCount(3), prompt: query });
for (const { toolResults } of steps) for (const { output } of toolResults) console.log(JSON.stringify(output, null, 2));
console.log(text);
