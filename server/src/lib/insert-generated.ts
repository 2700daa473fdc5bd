const end = "<!-- End of the generated part. -->";

/** A page of docs/ whose part between two comments is generated. The first comment names the source. */
export function insertGenerated(page: string, source: string, text: string): string {
  const start = `<!-- Generated from ${source} by \`npm run generate\`. -->`;
  const [before, rest = ""] = page.split(start, 2);
  const after = rest.split(end, 2)[1];
  if (before === undefined || after === undefined) throw new Error(`The page lacks ${start} or ${end}`);
  return `${before}${start}\n\n${text}\n\n${end}${after}`;
}
