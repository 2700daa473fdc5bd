// The same search in several languages, as in the quickstart of the docs.

export interface SampleSearch {
  url: string;
  query: string;
  n?: number | undefined;
  category?: string | undefined;
  /** If unknown, the sample reads it from the environment. */
  key?: string | undefined;
}

export type Language = "curl" | "TypeScript" | "Python" | "MCP";

export function formatCodeSample(language: Language, search: SampleSearch): string {
  return formatters[language](search);
}

const formatters: Record<Language, (search: SampleSearch) => string> = {
  curl: (search) =>
    [
      `curl -s ${quoteShell(`${search.url}/v1/search`)} \\`,
      search.key === undefined
        ? '  -H "Authorization: Bearer $PENNYBLACK_API_KEY" \\'
        : `  -H ${quoteShell(`Authorization: Bearer ${search.key}`)} \\`,
      "  -H 'Content-Type: application/json' \\",
      `  -d ${quoteShell(formatBody(search))}`,
    ].join("\n"),

  TypeScript: ({ url, query, n, category, key }) => {
    const options = [
      ...(n === undefined ? [] : [`n: ${n}`]),
      ...(category === undefined ? [] : [`category: ${JSON.stringify(category)}`]),
    ].join(", ");
    return `import { Pennyblack } from "@pennyblack/sdk"; // npm install @pennyblack/sdk

const pennyblack = new Pennyblack({
  apiKey: ${key === undefined ? "process.env.PENNYBLACK_API_KEY" : JSON.stringify(key)},
  baseUrl: ${JSON.stringify(url)},
});

const { results, meta } = await pennyblack.search(${JSON.stringify(query)}${options && `, { ${options} }`});
for (const { title, url } of results) console.log(title, url);
console.log(\`charged \${meta.charge} USD\`);`;
  },

  Python: (search) => `import json
import os
import urllib.request

request = urllib.request.Request(
    ${JSON.stringify(`${search.url}/v1/search`)},
    data=json.dumps(${formatBody(search)}).encode(),
    headers={
        "Authorization": "Bearer " + ${search.key === undefined ? 'os.environ["PENNYBLACK_API_KEY"]' : JSON.stringify(search.key)},
        "Content-Type": "application/json",
    },
)
with urllib.request.urlopen(request, timeout=15) as answer:
    for result in json.load(answer)["results"]:
        print(result["title"], result["url"])`,

  MCP: ({ url, key = "pb_live_..." }) =>
    JSON.stringify(
      {
        mcpServers: {
          pennyblack: {
            command: "npx",
            args: ["-y", "@pennyblack/mcp"],
            env: { PENNYBLACK_API_KEY: key, PENNYBLACK_URL: url },
          },
        },
      },
      undefined,
      2,
    ),
};

/** JSON on one line, which is also a Python dictionary. */
function formatBody({ query, n, category }: SampleSearch): string {
  const members = Object.entries({ query, n, category }).filter(([, value]) => value !== undefined);
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(", ")}}`;
}

/** Quotes text as one word of a POSIX shell. */
function quoteShell(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
