// A research agent: answers a question from web searches, cites its sources and stays within a budget. docs/tutorial.md
// explains it. The model here is a mock that makes the searches given as arguments. Replace it with your model.

import { createWebSearch, type WebSearchOutput } from "@pennyblack/ai-sdk";
import { formatUsd, toMicros } from "@pennyblack/sdk";
import { generateText, isStepCount, type LanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";

const instructions = `Answer the question from web searches. After each statement, cite the URL of its source in brackets.
If a search fails, follow the next step in its error. Do not answer from memory.`;

/** A person has to act before any search can succeed: add money, raise the budget of the key, or replace the key. */
const needsPerson = ["insufficient_balance", "key_budget_spent", "api_key_revoked", "api_key_expired"];

/** The same `job` continues with the same budget, and does not pay again for a search it has made in the last 24 hours. */
export async function research(model: LanguageModel, question: string, job: string) {
  const webSearch = createWebSearch({ conversationId: job, max: "0.10", repeat: "24h" });
  const { text, steps } = await generateText({
    model,
    instructions,
    prompt: question,
    tools: { webSearch },
    stopWhen: [isStepCount(20), ({ steps }) => searchesOf(steps).some(isBlocked)],
  });
  const searches = searchesOf(steps);
  const blocked = searches.find(isBlocked);
  if (blocked !== undefined) throw new Error(blocked.text);

  const found = searches.flatMap((search) => (search.ok ? search.results.map(({ url }) => url) : []));
  const cited = [...new Set(text.match(/https?:\/\/[^\s\])]+/g))];
  return {
    answer: text,
    sources: cited.filter((url) => found.includes(url)),
    // The model made these up: no search returned them.
    unknownSources: cited.filter((url) => !found.includes(url)),
    failures: searches.flatMap((search) => (search.ok ? [] : [search.code])),
    charged: formatUsd(searches.reduce((sum, search) => sum + (search.ok ? toMicros(search.charge) : 0n), 0n)),
  };
}

function searchesOf(steps: { toolResults: { output: unknown }[] }[]): WebSearchOutput[] {
  return steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output as WebSearchOutput));
}

function isBlocked(search: WebSearchOutput): boolean {
  return !search.ok && needsPerson.includes(search.code);
}

const [question = "postgresql advisory locks", ...more] = process.argv.slice(2);
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Makes one search after the other, then cites the first result of each. */
const mockModel = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const outputs = prompt.flatMap(({ role, content }) =>
      role === "tool" ? content.map((part) => JSON.stringify(part)) : [],
    );
    const query = [question, ...more][outputs.length];
    const firstResult = /\[1\] (.*?)\\n(http.*?)(?:\\n|")/;
    const cited = outputs.flatMap((output) => firstResult.exec(output)?.slice(1).join(" [").concat("]") ?? []);
    const input = JSON.stringify({ query });
    return {
      content: [
        query === undefined
          ? { type: "text", text: cited.join("\n") }
          : { type: "tool-call", toolCallId: String(outputs.length), toolName: "webSearch", input },
      ],
      finishReason: { unified: query === undefined ? "stop" : "tool-calls", raw: undefined },
      usage,
      warnings: [],
    };
  },
});

// Your ID for the task. A random one starts a new budget.
const job = process.env["JOB"] ?? crypto.randomUUID();
console.log(await research(mockModel, question, job));
