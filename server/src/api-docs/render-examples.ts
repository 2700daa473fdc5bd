/** docs/examples.md, from the text of each file in examples/ by name. */
export function renderExamples(examples: ReadonlyMap<string, string>): string {
  const sections = [...examples].map(([name, text]) => {
    const [language, title] = name.endsWith(".py") ? ["python", "Python"] : ["ts", "TypeScript"];
    return `## ${name.replace(/\.\w+$/, "")} (${title})\n\n<!-- part of: examples/${name} -->\n\`\`\`${language}\n${text}\`\`\``;
  });
  return [
    "<!-- Generated from examples by `npm run generate`. -->",
    "# Examples",
    "Each example is one file that you can copy. Set `PENNYBLACK_URL` and `PENNYBLACK_API_KEY`, and pass the query as the\nargument. Searches with a test key are free. The [tutorial](tutorial.md) explains `research-agent.ts`.",
    ...sections,
    "",
  ].join("\n\n");
}
