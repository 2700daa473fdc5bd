// A retriever for LangChain.js. A chain only needs a function from a query to documents:
//
//   import { RunnableLambda } from "@langchain/core/runnables";
//   const retriever = RunnableLambda.from(retrieve);
//
// This file does not import LangChain, to avoid a 40 MB dependency. The return type matches its Document.

import { Pennyblack } from "@pennyblack/sdk";

const pennyblack = new Pennyblack({
  apiKey: process.env["PENNYBLACK_API_KEY"],
  baseUrl: process.env["PENNYBLACK_URL"] ?? "http://localhost:8080",
});

interface RetrievedDocument {
  pageContent: string;
  metadata: { title: string; source: string; host: string; requestId: string };
  id: string;
}

/** Throws when the search fails. A chain that continued without documents would answer from memory. */
async function retrieve(query: string): Promise<RetrievedDocument[]> {
  const { results, meta } = await pennyblack.search(query, { n: 5 });
  return results.map(({ title, url, snippet, source }) => ({
    id: url,
    pageContent: snippet,
    metadata: { title, source: url, host: source, requestId: meta.requestId },
  }));
}

console.log(JSON.stringify(await retrieve(process.argv[2] ?? "postgresql advisory locks"), null, 2));
