const end = "<!-- End of the generated part. -->";

/** A page of docs/ whose part between two comments is generated. The first comment names the source. */
export function insertGenerated(page: string, source: string, text: string): string {
  const start = `<!-- Generated from ${source} by \`npm run generate\`. -->`;
  const from = page.indexOf(start);
  const to = page.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`The page lacks ${start} or ${end}`);
  return `${page.slice(0, from)}${start}\n\n${text}\n\n${page.slice(to)}`;
}
